"""Programs none of whose options writes a file, runs a program or changes anything."""

INERT = frozenset(
    "cat nl cut paste tr rev tac head tail wc fold fmt expand unexpand comm cmp join seq expr basename dirname realpath readlink stat ls "
    "du df id whoami uname groups logname nproc uptime tty numfmt md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum "
    "sum base32 od pr strings cal factor sleep echo true false : pwd pathchk tsort which type free lscpu".split()
)  # fmt: skip
