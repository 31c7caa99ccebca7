"""Command lines that agents write all day and that only read. All of them have to be granted without a rule."""

BENIGN = """\
ls
ls -la src
ls -l | head -20
ls *.py
ls src/*.py tests/*.py
ls 2>/dev/null
ls -la 2>&1 | head
ls "$HOME"
ls ~
ls ~/src
pwd
pwd && ls -la
cd src && ls
cd src && cat main.py | head -50
cat README.md
cat README.md | wc -l
cat a.txt b.txt | sort | uniq -c | sort -rn | head -10
cat 'file with spaces.txt'
cat file\\ with\\ spaces.txt
cat < input.txt
head -n 20 README.md
head -50 src/main.py
tail -n +10 file
tail -100 log.txt | grep -i error
wc -l src/*.py
wc -l < file
nl -ba src/main.py | sed -n '10,20p'
grep -rn "TODO" src
grep -rn "foo bar" . --include="*.py"
grep -E 'a|b' file.txt
grep -n "def main" -A 5 src/main.py
grep -c '^$' file
grep "foo$" file
grep -v '^#' file | grep -v '^$'
grep -rnE "class (Foo|Bar)" --include='*.ts' src | head -20
rg TODO
rg -n "foo bar" src
rg --files
rg --files -g '*.py' | head
rg -l pattern --type py
rg -uu 'x' .
rg -e foo -e bar src -C 3
find . -name '*.py'
find . -name "*.py" -type f | head -20
find src -type f -not -path '*/node_modules/*'
find . -maxdepth 2 -type d
find . \\( -name a -o -name b \\) -print
find . -name '*.log' -mtime -1 -size +1k
sed -n 1,20p file
sed -n '1,200p' src/main.py
sed -n '/start/,/end/p' file
sed 's/foo/bar/' file
sed 's/a/b/g;s/c/d/' file
sed -n '$p' file
sed -E 's/[0-9]+/N/g' file
awk '{print $1}' file
awk -F: '{print $1}' file
awk -F, '{print $2, $3}' data.csv
awk 'NR==5' file
ps aux | grep python
git status
git status --short
git status -sb
git diff
git diff --stat
git diff HEAD~1 -- src/main.py
git diff --cached
git log
git log --oneline -5
git log --oneline -n 10 --graph
git log -p -1 -- file
git log --format='%h %s' -10
git log --since="2 weeks ago" --author=me
git show HEAD
git show HEAD:src/main.py
git show --stat HEAD~2
git branch
git branch -a
git branch --show-current
git remote -v
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git ls-files
git ls-files | grep py
git blame -L 10,20 src/main.py
git stash list
git tag -l
git describe --tags
git --no-pager log -3
git grep -n foo
git merge-base HEAD main
echo hello world
echo "a && b; c | d"
echo 'single $(quoted)'
echo "exit: $?"
echo $?
echo -e "a\\nb"
echo $'tab\\there'
echo "$HOME"
echo "$PATH"
echo # nothing
printf '%s\\n' hello
printf 'a\\nb\\n' | sort
true
false || true
test -f README.md && echo yes
test -d src || echo no
[ -f README.md ] && echo yes
[ -n "x" ] && echo y || echo n
[ "$HOME" = x ] || true
date
date +%Y-%m-%d
date -u "+%H:%M:%S"
date -Iseconds
which python3
which -a python
type ls
command -v git
command -v node >/dev/null 2>&1 && echo found
basename /a/b.txt .txt
dirname /a/b
realpath src
readlink -f x
stat README.md
stat -c '%s %n' *.txt
file README.md
file -b --mime-type x
du -sh .
du -sh * | sort -h
df -h
tree -L 2
tree -a -I 'node_modules|.git'
diff a.txt b.txt
diff -u a b | head -50
diff -rq dir1 dir2
cmp a b
md5sum f
sha256sum file.tar.gz
sort file
sort -k2 -n file
sort -t, -k1,1 -u data.csv
uniq -c names.txt
cut -d: -f1 /etc/passwd
cut -c1-10 file
tr a-z A-Z < file
tr -d '\\r' < file
seq 1 10
expr 1 + 1
base64 README.md
base64 -d data.b64
xxd file | head
od -c file | head
hexdump -C file | head -5
strings binary | grep version
jq . package.json
jq -r '.scripts | keys[]' package.json
jq '.dependencies' package.json | head
column -t file
paste a b
rev file
tac file
comm -12 a b
fold -w 80 file
uname -a
whoami
id
hostname
uptime
nproc
sleep 1
timeout 10 ls
timeout 5s git status
time ls
nice ls
bash -c 'ls'
bash -lc 'ls && pwd'
sh -c "ls | head"
cat a; cat b
cat a && echo --- && cat b
ls src
ls -la /usr/bin | head
ls; pwd; whoami
cat .env.example
cat package.json | jq .version
numfmt --to=iec 1024
test -e a -a -e b
exit 0
""".splitlines()
BENIGN += [
    "ls  # comment",
    "ls \\\n  -la",
    "cat a |\n  head",
    "ls\n",
    "\n\nls\npwd\n",
    "ls &&\n pwd",
    "# first a comment\nls",
    "cat 'a\nb'",
]
