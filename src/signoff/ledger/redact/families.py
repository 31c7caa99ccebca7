"""Tokens that vendors mark with a prefix of their own: what they begin with and what may follow.

A row is data, nothing is compiled until its prefix is met. `Family.wary` marks prefixes so short that chance alone
brings them up; their tail must look random as well.
"""

from typing import NamedTuple

LETTERS = "[A-Za-z0-9]"
WORD = r"\w"
URL = r"[\w-]"
URL_DOT = r"[\w.-]"
URL_PAD = r"[\w=-]"
URL_ALL = r"[\w=.-]"
BASE64 = "[A-Za-z0-9+/]"
HEX = "[0-9a-f]"
HEX_ANY = "[0-9a-fA-F]"
UPPER = "[A-Z0-9]"
LOWER = "[a-z0-9]"
UUID = f"{HEX_ANY}{{8}}(?:-{HEX_ANY}{{4}}){{3}}-{HEX_ANY}{{12}}"


class Family(NamedTuple):
    kind: str
    prefix: str
    tail: str
    wary: bool = False


def _rows(kind: str, tail: str, *prefixes: str, wary: bool = False) -> list[Family]:
    return [Family(kind, prefix, tail, wary) for prefix in prefixes]


FAMILIES: tuple[Family, ...] = (
    # source forges and package registries
    *_rows("github", LETTERS + "{36,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *_rows("github", WORD + "{36,255}", "github_pat_"),
    *_rows("gitlab", URL_DOT + "{20,300}", "glpat-", "glrt-", "gldt-", "glft-", "glsoat-", "glffct-", "glwt-"),
    *_rows("gitlab", URL + "{18,300}", "glcbt-", "glptt-", "glimt-", "glagent-", "gloas-"),
    *_rows("gitlab", URL + "{20,60}", "GR1348941"),
    *_rows("gitlab", LETTERS + "{32}", "_gitlab_session="),
    *_rows("bitbucket", URL_PAD + "{20,300}", "ATBB", "ATCTT3", "ATATT3", wary=True),
    *_rows("npm", LETTERS + "{36}", "npm_"),
    *_rows("pypi", URL + "{40,400}", "pypi-AgE"),
    *_rows("rubygems", HEX + "{48}", "rubygems_"),
    *_rows("clojars", LETTERS + "{60}", "CLOJARS_"),
    *_rows("cargo", LETTERS + "{32}", "cio", wary=True),
    *_rows("nuget", LOWER + "{43}", "oy2", wary=True),
    *_rows("artifactory", LETTERS + "{10,200}", "AKC"),
    *_rows("artifactory", LETTERS + "{8,200}", *(f"AP{digit}" for digit in "0123456789ABCDEF"), wary=True),
    *_rows("artifactory", LETTERS + "{59}", "cmVmd"),
    *_rows("docker", URL + "{20,60}", "dckr_pat_", "dckr_oat_"),
    *_rows("docker", BASE64 + "{12,4000}={0,2}", "eyJhdXRocyI6"),
    # clouds
    *_rows("aws", UPPER + "{16}", "AKIA", "ASIA", "ABIA", "ACCA"),
    *_rows("aws", UPPER + "{17}", "A3T"),
    *_rows("aws", BASE64 + "{80,300}={0,2}", "ABSK"),
    *_rows("aws", BASE64 + "{20,2000}={0,2}", "bedrock-api-key-"),
    *_rows("aws", r"[\w%+/=-]{16,}", "X-Amz-Signature="),
    *_rows("google", URL + "{33,40}", "AIza"),
    *_rows("google", URL_DOT + "{20,2000}", "ya29."),
    *_rows("google", URL + "{24,40}", "GOCSPX-"),
    *_rows("google", URL + "{40,200}", "1//0"),
    *_rows("azure", BASE64 + "{40,88}={0,2}", "AccountKey=", "SharedAccessKey="),
    *_rows("alibaba", LETTERS + "{12,30}", "LTAI"),
    *_rows("tencent", LETTERS + "{32}", "AKID"),
    *_rows("yandex", URL + "{35,38}", "AQVN"),
    *_rows("yandex", URL + "{38}", "YC", wary=True),
    *_rows("yandex", URL_PAD + r"{1,60}\." + URL_PAD + "{80,90}", "t1."),
    *_rows("digitalocean", HEX + "{64}", "dop_v1_", "doo_v1_", "dor_v1_"),
    *_rows("heroku", URL + "{36,80}", "HRKU-"),
    *_rows("fly", URL_PAD + "{30,4000}", "fo1_", "fm1r_", "fm2_", "fm1a_"),
    *_rows("cloudflare", HEX + "{24}-" + HEX + "{146}", "v1.0-"),
    *_rows("scalingo", URL + "{48}", "tk-us-"),
    *_rows("openshift", URL + "{43}", "sha256~"),
    # chat and mail
    *_rows("slack", URL + "{10,300}", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxc-", "xoxd-"),
    *_rows("slack", r"xox[bp]-" + URL + "{10,300}", "xoxe."),
    *_rows("slack", r"\d-" + URL + "{10,300}", "xapp-"),
    *_rows("slack", r"(?:services|workflows|triggers)/[\w/+-]{20,}", "hooks.slack.com/"),
    *_rows("discord", r"\d{10,}/" + URL + "{40,}", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"),
    *_rows("sendgrid", r"[\w=.-]{60,72}", "SG."),
    *_rows("sendinblue", HEX + "{64}-" + LETTERS + "{16}", "xkeysib-", "xsmtpsib-"),
    *_rows("mailgun", HEX + "{32}", "key-", "pubkey-"),
    *_rows("twilio", HEX + "{32}", "SK"),
    *_rows("postmark", UUID, "PM-B-", "PMAT-"),
    # models
    *_rows("openai", r"[\w-]{0,12}" + LETTERS + "{8,80}T3BlbkFJ" + URL + "{20,160}", "sk-"),
    *_rows("openai", URL + "{20,300}", "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-", "sk-lf-", "pk-lf-", "sess-"),
    *_rows("openai", LETTERS + "{32,64}", "sk-", "sk_"),
    *_rows("anthropic", URL + "{20,300}", "sk-ant-"),
    *_rows("huggingface", "(?=[a-z]*[A-Z0-9])" + LETTERS + "{30,60}", "hf_", "api_org_"),
    *_rows("perplexity", LETTERS + "{32,64}", "pplx-"),
    *_rows("replicate", LETTERS + "{37}", "r8_"),
    *_rows("groq", LETTERS + "{40,64}", "gsk_", "xai-"),
    *_rows("nvidia", URL + "{40,100}", "nvapi-"),
    *_rows("langchain", r"(?:pt|sk)_" + HEX + "{32}_" + HEX + "{10}", "lsv2_"),
    *_rows("vectors", WORD + "{40,120}", "pcsk_", "tvly-", "jina_", "fw_", "co_", wary=True),
    # payment and commerce
    *_rows("stripe", LETTERS + "{10,250}", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"),
    *_rows("stripe", BASE64 + "{24,80}={0,2}", "whsec_"),
    *_rows("square", URL + "{22,60}", "sq0csp-", "sq0atp-", "sq0idp-"),
    *_rows("square", URL + "{22,80}", "EAAA"),
    *_rows("facebook", LETTERS + "{80,500}", "EAAM", "EAAC", "EAAB", "EAAG"),
    *_rows("shopify", HEX_ANY + "{32}", "shpat_", "shpca_", "shppa_", "shpss_", "shpua_"),
    *_rows("shippo", HEX_ANY + "{40}", "shippo_live_", "shippo_test_"),
    *_rows("easypost", LETTERS + "{54}", "EZAK", "EZTK"),
    *_rows("flutterwave", "(?:[0-9a-h]{32}-X|[0-9a-h]{12})", "FLWPUBK_TEST-", "FLWSECK_TEST-", "FLWPUBK-", "FLWSECK-"),
    *_rows("duffel", URL_PAD + "{43}", "duffel_test_", "duffel_live_"),
    *_rows("plaid", UUID, "access-sandbox-", "access-development-", "access-production-"),
    *_rows("lob", HEX + "{31,35}", "test_pub_", "live_pub_", "test_", "live_"),
    *_rows("gocardless", URL_PAD + "{40}", "live_", "sandbox_", wary=True),
    *_rows("razorpay", LETTERS + "{14}", "rzp_live_", "rzp_test_"),
    *_rows("paypal", LOWER + "{16}[$]" + HEX + "{32}", "access_token$production$", "access_token$sandbox$"),
    # observability, delivery, work tools
    *_rows("grafana", BASE64 + "{32,400}={0,2}", "glc_"),
    *_rows("grafana", LETTERS + "{32}_" + HEX_ANY + "{8}", "glsa_"),
    *_rows("grafana", BASE64 + "{50,400}={0,2}", "eyJrIjoi"),
    *_rows("newrelic", LETTERS + "{19,40}", "NRAK-", "NRJS-", "NRRA-", "NRBR-"),
    *_rows("newrelic", URL + "{32}", "NRII-", "NRIQ-"),
    *_rows("sentry", r"[\w+/=]{40,400}", "sntrys_", "sntryu_", "sntrya_", "sntryi_"),
    *_rows("dynatrace", r"[a-z]\d{2}\." + LETTERS + r"{24}\." + LETTERS + "{64}", "dt0"),
    *_rows("sourcegraph", f"(?:local_|{HEX_ANY}{{16}}_)?{HEX_ANY}{{40}}", "sgp_"),
    *_rows("vault", URL + "{24,400}", "hvs.", "hvb.", "hvr."),
    *_rows("vault", LETTERS + "{24}", "s.", "b.", wary=True),
    *_rows("pulumi", HEX + "{40}", "pul-"),
    *_rows("databricks", HEX + "{32}(?:-\\d)?", "dapi"),
    *_rows("doppler", r"[A-Za-z0-9.]{40,60}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
    *_rows("linear", LETTERS + "{40}", "lin_api_", "lin_oauth_"),
    *_rows("notion", LETTERS + "{40,60}", "ntn_"),
    *_rows("notion", LETTERS + "{43}", "secret_"),
    *_rows("postman", HEX_ANY + "{24}-" + HEX_ANY + "{34}", "PMAK-"),
    *_rows("prefect", LETTERS + "{36}", "pnu_", "pnb_"),
    *_rows("planetscale", URL_ALL + "{32,64}", "pscale_pw_", "pscale_tkn_", "pscale_oauth_"),
    *_rows("frameio", URL_PAD + "{64}", "fio-u-"),
    *_rows("harness", URL + r"{22}\." + LETTERS + r"{24}\." + LETTERS + "{20}", "pat.", "sat."),
    *_rows("airtable", LETTERS + r"{14}\." + HEX + "{64}", "pat"),
    *_rows("readme", LETTERS + "{70}", "rdme_"),
    *_rows("typeform", URL_ALL + "{40,80}", "tfp_"),
    *_rows("settlemint", LETTERS + "{16}", "sm_aat_", "sm_pat_", "sm_sat_"),
    *_rows("age", UPPER + "{58}", "AGE-SECRET-KEY-1"),
    *_rows(
        "onepass", UPPER + "{6}-(?:" + UPPER + "{11}|" + UPPER + "{6}-" + UPPER + "{5})(?:-" + UPPER + "{5}){3}", "A3-"
    ),
    *_rows("onepass", BASE64 + "{100,800}={0,2}", "ops_eyJ"),
    *_rows("adobe", LETTERS + "{32}", "p8e-"),
    *_rows("mapbox", r"[\w-]{40,120}\.[\w-]{20,40}", "pk.ey", "sk.ey", "tk.ey"),
    *_rows("mapbox", LETTERS + r"{60}\." + LETTERS + "{22}", "pk.", "sk."),
    *_rows("octopus", UPPER + "{25,26}", "API-"),
    *_rows("infracost", LETTERS + "{32}", "ico-"),
    *_rows("intra", HEX + "{64}", "s-s4t2ud-", "s-s4t2af-"),
    *_rows(
        "atlas",
        r"[\w-]{10}\.acc[_-][\w-]{10}\.[\w-]{30,}|[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
        "sc_",
        "sec_",
        "ext_",
        "scauth_",
        "authress_",
    ),
    *_rows("definednet", URL_PAD + "{26}-" + URL_PAD + "{52}", "dnkey-"),
    *_rows("clickhouse", LETTERS + "{38}", "4b1d", wary=True),
    *_rows("figma", URL + "{36,80}", "figd_", "figu_", "figp_", "figr_", "figo_"),
    *_rows("supabase", LETTERS + "{36,60}", "sbp_", "sb_secret_"),
    *_rows("netlify", URL + "{36,60}", "nfp_", "nfc_"),
    *_rows("circleci", WORD + "{22,80}", "CCIPAT_", "CCIPRJ_"),
    *_rows("sonar", HEX + "{40}", "sqp_", "squ_", "sqa_"),
    *_rows("tailscale", r"[\w-]{20,80}", "tskey-"),
    *_rows("contentful", URL + "{40,50}", "CFPAT-"),
    *_rows("posthog", LETTERS + "{40,50}", "phc_", "phx_"),
    *_rows("buildkite", LETTERS + "{40}", "bkua_", "bkpt_"),
    *_rows("dropbox", URL + "{120,1400}", "sl."),
    *_rows("atlassian", URL_PAD + "{60,300}", "ATATT3xFf", "ATCTT3xFf"),
    *_rows("asana", r"\d{10,}[:/]" + HEX_ANY + "{32}", "0/", "1/", "2/"),
    *_rows("monday", BASE64 + "{20,}", "eyJ0aWQiOj"),
    *_rows(
        "hubspot",
        HEX + "{8}-" + HEX + "{4}-" + HEX + "{4}-" + HEX + "{4}-" + HEX + "{12}",
        "pat-na1-",
        "pat-eu1-",
        "pat-na2-",
    ),
    *_rows("rootly", HEX + "{64}", "rootly_"),
    *_rows("temporal", LETTERS + "{32,}", "tmprl_"),
    *_rows("pagerduty", URL + "{18}", "u+"),
    *_rows("aiven", BASE64 + "{200,}={0,2}", "AVNS_"),
    *_rows("aiven", URL + "{16,24}", "AVNS_"),
    *_rows("aiven", BASE64 + "{200,800}={0,2}", "AVNU_"),
    *_rows("adafruit", LETTERS + "{28}", "aio_"),
    *_rows("jumpcloud", LETTERS + "{36}", "jca_"),
    *_rows("alchemy", WORD + "{30,40}", "alcht_"),
    *_rows("spectral", HEX + "{32}", "spu-"),
    *_rows("mercadopago", r"\d{10,20}-\d{6}-" + HEX + "{32}(?:-\\d{5,12})?", "APP_USR-", "TEST-"),
    *_rows("apify", LETTERS + "{36}", "apify_api_"),
    *_rows("runners", LETTERS + "{30,60}", "rpa_", "e2b_", "csk-", "rnd_", "zpka_", wary=True),
    *_rows("firecrawl", HEX + "{32}", "fc-"),
    *_rows("trigger", LETTERS + "{20,40}", "tr_dev_", "tr_prod_"),
    *_rows("paddle", WORD + "{30,80}", "pdl_live_apikey_", "pdl_sdbx_apikey_"),
    *_rows("okta", URL + "{40}", "00", wary=True),
    *_rows("jwt64", BASE64 + "{60,4000}={0,2}", "ZXlK"),
    *_rows("crypt", r"(?:rounds=\d+\$)?[./A-Za-z0-9]{2,22}\$[./A-Za-z0-9]{22,90}", "$1$", "$5$", "$6$", "$apr1$"),
    *_rows("crypt", r"[./A-Za-z0-9$]{20,}", "$y$", "$7$"),
)

# prefixes whose tail may lack a digit altogether; the scan for runs with digits would pass them by
DIGITLESS = ("hf_", "api_org_", "AKIA", "ASIA", "ABIA", "ACCA", "A3T", "AKC", "hooks.slack.com/")

KINDS = frozenset(family.kind for family in FAMILIES)
