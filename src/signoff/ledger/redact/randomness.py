"""How far a string is from the words and identifiers people write.

The table holds, for each pair of neighbouring characters (letters folded, digits as one, everything else as one), what
that pair costs in fifths of a bit, as chr(40 + cost). It was counted over identifiers of six characters and more that
occur at least twice in installed Python and JavaScript packages. Identifiers cost 3.7 bits a pair, 99 in 100 below 5;
random letters and digits 6.7, nearly all above 5 from twenty characters on.
"""

import functools

_TABLE = (
    r"QA;=WK?^BVK8<9`>c7;5DKOJGYMF",
    r"6GDH9QQW;>P6JL:GW??J7ZUd?\F=",
    r"9UFO7OT9AW;;HU4N\?F7@SZ]GfR@",
    r":HH?2JIQ6TKBKJ<IRC?FAPRWL_L5",
    r"@L<<HEHUM_U9B9ODE67;PGK?J_R9",
    r"<KKL>?R]3]\>MK8Ra>FD@_\_KrI1",
    r"@PIM1IB><UO?G?AK[;;DAPYaRWQ7",
    r"5NNK3QUP6YTGHM7NW@G9E\TgISL:",
    r"BD<?AD>^X\V<?28BZB::OEdIoEUI",
    r"=ENH.JLCDJ=SHL8IqT:Y>PLZUqS>",
    r"@GHG0AEH7YVBJEJJPH<IDSEUQ_N4",
    r";MNA37UX5]U<QQ8J_QB??OXcEfX<",
    r"4CPG1RXW<YRCAL97_QAIBVYbJdU<",
    r":R=99A8V@[JJKE>G_N96EFWYS_R:",
    r"FF=<THCZHHG==3B>a6AA<FAOQYYC",
    r"6QIE5NNG>mP:NN8=`7C<APVa@gO=",
    r"PVXKUXZT[bs>ZO^HMFER*STsdhP<",
    r"9QAD2NBW:fFGCF8K`@<=DFRhBjU:",
    r"CT@K2OMB;`EDMP@?PL<3@PN^GdS7",
    r":REK4LU<6bUIHP;Gb;>BDRLS?YP6",
    r"C?DC8FGf@l`9;7L;Z8;7U_aSf`JL",
    r"2RDR/HPY6qcVGPEBZQJKPVVW[X?A",
    r"6QJH:OW@4gUEO<6G[8?LVKLTbhV8",
    r"=Q9L9OTR=x^KFQI7[KI2OUSIC]?5",
    r"EGBGBKFTEXZ?>?G2ZF:;RHFXQLK2",
    r"8RSS,Q[R9cYLKQ;F^PKNMapOEFE@",
    r"BB=AEEOQMXTJOOMCTLCIORWA^[.2",
    r"=B:>?=BC=RJ??@B<Q=9<CDEUWSJ<",
)
_CLASS = bytes(
    code - 97 if 97 <= code <= 122 else code - 65 if 65 <= code <= 90 else 26 if 48 <= code <= 57 else 27
    for code in range(256)
)
_COST = tuple(tuple((ord(mark) - 40) / 5 for mark in row) for row in _TABLE)


@functools.lru_cache(maxsize=4096)
def surprise(word: str) -> float:
    """Mean bits for each pair of neighbours; 0 for words too short to have one."""
    if len(word) < 2:
        return 0.0
    classes = word[:256].encode("latin-1", "replace").translate(_CLASS)
    total = 0.0
    before = classes[0]
    for now in classes[1:]:
        total += _COST[before][now]
        before = now
    return total / (len(classes) - 1)
