import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { decide } from "./decide.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-options-"));
after(() => rmSync(directory, { recursive: true, force: true }));

function answerTo(
  allowedCommands: string[],
  command: string,
  mode: "ask" | "unattended" = "ask",
): string {
  const rules = {
    allowedCommands,
    outsideWorktree: "ask" as const,
    mode,
    directory,
    hasSandbox: false,
    unattendedCommands: false,
    ownDirectories: [],
    secrets: [],
    temporaryDirectory: `${directory}-state/tmp`,
  };
  return decide(rules, { type: "execute", callId: null, command, cwd: directory }).answer;
}

/** Commands under an entry that allows any arguments of the program. */
const held: [entry: string, ...commands: string[]][] = [
  [
    "git *",
    "git x/run",
    "git bisect view x/run",
    "git config --get --no-get core.fsmonitor ./run.sh",
    "git hash-object -w --stdin-paths",
    "git fast-import --allow-unsafe-features",
    "git maintenance register",
  ],
  ["git *", "git apply x.patch", "git am x.patch"],
  ["patch *", "patch -p1 -i x.patch"],
  [
    "curl *",
    "curl file://127.0.0.1/x",
    "curl file:///%65tc/hostname",
    "curl -F 'x=<x' http://h.example",
    `curl -F 'x=@"x"' http://h.example`,
  ],
  [
    "curl *",
    "curl '{file}:///%74mp/x'",
    "curl 'fil[e-e]:///%74mp/x'",
    "curl 'fil{e:}///%74mp/x'",
    "curl 'fil{e:///%74mp/x}'",
    `curl '{"x":1,file}:///%74mp/{x}'`,
    "curl --proto-default file localhost/%74mp/x",
    "curl --expand-url '{{x}}' --variable x@y",
    "curl --variable x@y u",
    "curl --engine ./x.so u",
    "curl --ssl-sessions x u",
  ],
  [
    "git *",
    "git cherry-pick --strategy=x/run y",
    "git rebase -s x/run main",
    "git rebase --strat x/run main",
    "git pull --rebase -s x/run",
    "git merge -qsx/run y",
    "git revert --strat=x/run y",
    "git bisect--helper run ./run.sh",
    "git --no-pager rebase--interactive",
  ],
  [
    "git *",
    "git update-index --add --index-info",
    "git update-index --index-i",
    "git fast-import",
    "git quiltimport --patches x",
  ],
  ["wget *", "wget --content-disposition u", "wget -x -nH u", "wget -qi l", "wget -r u"],
  ["wget *", "wget --mirror u", "wget -m u", "wget -p u", "wget --trust-server-names u"],
  ["curl *", "curl -T '[u-u]p/outside' u", "curl -T 'u{p}/outside' u"],
  ["rsync *", "rsync -a --filter='. l' a b", "rsync -af '. l' a b"],
  ["rsync *", "rsync -aL a b", "rsync -ak a b", "rsync --copy-links a b"],
  ["cp *", "cp -rL a b", "cp -rH a b", "cp --dereference -r a b"],
  ["tar *", "tar chf x a", "tar -chf x a", "tar -cf x --dereference a"],
  ["zip *", "zip -r x a", "zip -qr x a", "zip -@ x", "zip --recurse-paths x a"],
  ["zgrep *", "zgrep -R hi ."],
  ["find *", "find -L . -name x", "find . -follow"],
  ["fd *", "fd -L x", "fd --follow x"],
  ["tree *", "tree -l", "tree -al"],
  ["printf *", "printf -v'a[$(touch q)]' x", "printf -va x"],
  ["builtin *", "builtin printf -v'a[$(touch q)]' x"],
  ["sh *", "sh -c 'ls &>x touch q'", "sh -c 'ls |& touch q'", "sh -c -- 'touch q'"],
  ["awk *", `awk 'BEGIN{ARGV[1]="x";ARGC=2}1'`],
  ["sort *", "sort --files0-from=l"],
  [
    "tar *",
    "tar cf h.invalid:x f",
    "tar cf b.tar -T l",
    "tar cf a.tar '--transform=s,^t/,.gi&,' t/config",
  ],
  ["jq *", `jq -n 'import "config" as $d {search:"x"}; $d'`, "jq -f x"],
  ["npm test *", "npm test ---script-shell=./run.sh", "npm test --no-no-script-shell=./run.sh"],
  [
    "cp *",
    "cp -vt../ f",
    "cp -ft.git config",
    "cp -vt/root/x f",
    "cp -- evil --exclude/../.git/config",
  ],
  ["DRY_RUN=1 ./deploy.sh *", "./deploy.sh prod"],
  ["npm ci && npm test *", "npm ci --foo"],
  ["python3 *", `python3 '-cprint(1)' x`],
  [
    "git *",
    "git -C .. status",
    "git --git-dir=x status",
    "git --no-pager --work-tree .. status",
    "git -p log",
    "git config core.fsmonitor ./run.sh",
    "git hook run pre-commit",
    "git filter-branch --tree-filter ./run.sh",
    "git send-email --sendmail-cmd=./run.sh",
    "git merge-index -o ./run.sh -a",
    "git --no-pager merge-index ./run.sh -a",
    "git remote-ext o 'sh -c ./run.sh'",
    "git remote-fd 3",
    "git remote-anything x",
    "git bugreport -o x",
    "git bugreport",
    "git diagnose -o x",
    "git bundle create x HEAD",
    "git bundle --no-x create x HEAD",
    "git worktree add x HEAD",
    "git worktree move x y",
    "git credential fill",
    "git credential-store get",
    "git submodule--helper foreach ./run.sh",
    "git web--browse -b ./run.sh u",
  ],
  ["git worktree *", "git worktree add ../x", "git worktree add -f x"],
  ["git bundle *", "git bundle create ../x HEAD"],
  ["git -C sub *", "git -C sub --git-dir=x status", "git -C sub log --output=x"],
  [
    "git grep *",
    "git grep -O./run.sh hi",
    "git grep -nO./run.sh hi",
    "git grep --open=./run.sh hi",
  ],
  ["git grep *", "git grep --open-files-in-pager=./run.sh hi", "git grep hi -- -O./run.sh"],
  ["git fetch *", "git fetch --upload-pack=./run.sh .", "git fetch --upload-p ./run.sh ."],
  ["git ls-remote *", "git ls-remote --upload-pack=./run.sh .", "git ls-remote --exec=./run.sh ."],
  ["git push *", "git push --receive-pack=./run.sh .", "git push --exec ./run.sh ."],
  ["git clone *", "git clone -qu ./run.sh . x", "git clone --template=x . y"],
  ["git init *", "git init --template x"],
  ["git archive *", "git archive --remote=. --exec=./run.sh HEAD", "git archive -o ../x HEAD"],
  ["git rebase *", "git rebase --exec ./run.sh --root", "git rebase -ix ./run.sh main"],
  ["git bisect *", "git bisect run ./run.sh"],
  ["git submodule *", "git submodule foreach ./run.sh", "git submodule --quiet foreach ./run.sh"],
  ["git difftool *", "git difftool -y -x ./run.sh", "git difftool --extcmd=./run.sh"],
  ["git log *", "git log --output=../x", "git log --outp ../x"],
  ["git diff *", "git diff --no-index --output=../x f g"],
  ["git show *", "git show -s --format=evil --output=x"],
  ["git format-patch *", "git format-patch -o .. HEAD", "git format-patch --output-dir=.. HEAD"],
  ["git apply *", "git apply --unsafe-paths x.patch"],
  ["sort *", "sort -S 10k --compress-program=./run.sh big", "sort --comp ./run.sh big"],
  ["sort *", "sort f -o ../x", "sort -uo../x f", "sort --output=../x f", "sort -S -- -o ../x f"],
  ["shuf *", "shuf -o ../x f"],
  ["tree *", "tree -o ../x"],
  ["tar *", "tar xf a.tar --to-command=./run.sh", "tar xf a.tar --to-c ./run.sh"],
  ["tar *", "tar cf b f --checkpoint=1 --checkpoint-action=exec=./run.sh"],
  ["tar *", "tar -I ./run.sh -cf b.tar f", "tar cIf ./run.sh b.tar f", "tar -cvI./run.sh -f b f"],
  ["tar *", "tar --use-compress-program=./run.sh -cf b f", "tar -cMF ./run.sh -f b f"],
  ["tar *", "tar -xf a.tar -C ..", "tar -xPf a.tar", "tar --rsh-command=./run.sh -xf h:a"],
  ["zip *", "zip a f -T -TT ./run.sh", "zip a f --unzip-command ./run.sh"],
  ["sed *", "sed '1e ./run.sh' f", "sed -n -e 's/a/b/e' f", "sed -ne '1e ./run.sh' f"],
  ["sed *", "sed 'w ../x' f", "sed 's/a/b/w ../x' f", "sed --expr='1e ./run.sh' f"],
  ["sed *", "sed -i s/a/b/ ../x", "sed -ni p x", "sed --in-place=.old p x", "sed -f x f"],
  ["sed *", "sed -l p '1e ./run.sh' f", "sed -- '1e ./run.sh' -e p", "sed 'w ../x' -e p"],
  ["sed *", "sed 's/[/]/x/e;s/]/y/' f", "sed -e p -e e f", "sed 'p;e' f"],
  [
    "awk *",
    `awk 'BEGIN{system("./run.sh")}'`,
    `awk '{print > "../x"}' f`,
    `awk '{print | "sh"}' f`,
  ],
  ["awk *", "awk -f x f", "awk --file=x f", "awk '@load \"x\"' f", "awk -l x p f"],
  ["gawk *", `gawk -e 'BEGIN{system("./run.sh")}'`, "gawk -o../x 1 f"],
  ["mawk *", "mawk -W exec x"],
  ["split *", "split --filter=./run.sh f", "split --fil ./run.sh f"],
  ["rg *", "rg --pre ./run.sh hi f", "rg --hostname-bin=./run.sh hi", "rg -L hi", "rg --follow hi"],
  ["grep *", "grep -R hi .", "grep -nR hi", "grep --deref hi .", "grep hi -R ."],
  ["diff *", "diff -r a b", "diff -ur a b", "diff --recursive a b"],
  ["fd *", "fd -x ./run.sh", "fd -HX ./run.sh", "fd --exec-batch ./run.sh"],
  ["find *", "find . -exec ./run.sh", "find . -fprintf x y"],
  ["ed *", "ed f"],
  ["vim *", "vim -c '!./run.sh' f"],
  ["less *", "less +'!./run.sh' f", "less -o x f", "less '-pa$ox' f", "less --lesskey-content=x f"],
  ["man *", "man -P ./run.sh ls", "man --pager=./run.sh ls", "man -H./run.sh ls"],
  ["ssh *", "ssh -o ProxyCommand=./run.sh h", "ssh -vF x h", "ssh -E ../x h"],
  ["scp *", "scp -S ./run.sh a h:b", "scp -o ProxyCommand=./run.sh a h:b"],
  ["rsync *", "rsync -ave ./run.sh a h:b", "rsync --rsh=./run.sh a h:b", "rsync --log-file=x a b"],
  ["curl *", "curl -o ../x u", "curl -sSLo ../x u", "curl -O u", "curl -K x", "curl --config x"],
  ["curl *", "curl --output=../x u", "curl -c ../x u", "curl -w '%output{../x}' u"],
  ["wget *", "wget -O ../x u", "wget -qO../x u", "wget --output-document=../x u", "wget -P .. u"],
  ["wget *", "wget --use-askpass=./run.sh u", "wget -e x=y u"],
  ["make *", "make -f x", "make -sC .. all", "make --eval=x", "make CC=./run.sh", "make --file=x"],
  ["npm test *", "npm test --script-shell ./run.sh", "npm test -script-shell=./run.sh"],
  ["npm *", "npm exec -c ./run.sh", "npm --prefix .. test"],
  ["npx *", "npx -c ./run.sh", "npx --call=./run.sh"],
  ["go test *", "go test -exec ./run.sh", "go test --toolexec=./run.sh", "go test -o ../x"],
  ["env *", "env -vS'./run.sh' ls", "env --split='./run.sh' ls", "env -iS./run.sh ls"],
  ["env *", "env -C .. ls", "env -u GIT_CONFIG_NOSYSTEM ls", "env - ls", "env A=1 ls"],
  ["sudo *", "sudo -s ls", "sudo LD_PRELOAD=./x ls", "sudo -nD .. ls", "sudo --shell ls"],
  ["doas *", "doas -C x ls", "doas -s ls"],
  ["timeout *", "timeout --kill=1 5 ls", "timeout -x 5 ls"],
  ["nice *", "nice --adj=3 ls", "nice --n 3 ls"],
  ["ionice *", "ionice -c3 -p ls"],
  ["nohup *", "nohup -x ls"],
  ["setsid *", "setsid -x ls"],
  ["stdbuf *", "stdbuf --out=L ls"],
  ["/usr/bin/time *", "/usr/bin/time -o ../x ls", "/usr/bin/time -vo ../x ls"],
  ["command *", "command -x ls"],
  ["exec *", "exec -a sh ls", "exec -c ls"],
  ["chroot *", "chroot . ls"],
  ["watch *", "watch -t ls ';' ./run.sh", "watch -x ls"],
  ["strace *", "strace -o '|./run.sh' ls", "strace -fo '|./run.sh' ls", "strace -E A=1 ls"],
  ["flock *", "flock f ./run.sh", "flock -n f ./run.sh", "flock f -c ./run.sh", "flock -c ls f"],
  ["bash *", "bash --rcfile -c ls", "bash --init-file -c ls"],
  ["fish *", "fish -c ls"],
];

test("an entry with ` *` does not cover options that run a program or write a named file", () => {
  for (const [entry, ...commands] of held)
    for (const command of commands) {
      const entries = [entry, "ls *"];
      assert.equal(answerTo(entries, command), "ask", command);
      assert.equal(answerTo(entries, command, "unattended"), "deny", command);
      assert.equal(answerTo([command], command, "unattended"), "allow", `the entry ${command}`);
    }
});

test("an entry that names the option covers it", () => {
  const rows: [entry: string, command: string, answer: string][] = [
    ["sort --compress-program=gzip *", "sort --compress-program=gzip f", "allow"],
    ["sort --compress-program *", "sort --compress-program gzip f", "allow"],
    ["sort -o *", "sort -o x f", "allow"],
    ["sort -o *", "sort -o x --compress-program=./run.sh f", "ask"],
    ["sed -i *", "sed -i s/a/b/ f", "allow"],
    ["sed -i *", "sed -i '1e ./run.sh' f", "ask"],
    ["git -C sub *", "git -C sub log", "allow"],
    ["git -p *", "git -p merge-index ./run.sh -a", "ask"],
    ["git -p *", "git -p -C sub merge-index ./run.sh -a", "ask"],
    ["git bisect run *", "git bisect run ./run.sh", "allow"],
    ["git worktree add *", "git worktree add x", "allow"],
    ["git bundle create *", "git bundle create x HEAD", "allow"],
    ["git config user.name *", "git config user.name ada", "allow"],
    ["curl -o /dev/null *", "curl -o /dev/null u", "allow"],
    ["make -C *", "make -C sub test", "allow"],
  ];
  for (const [entry, command, answer] of rows)
    assert.equal(answerTo([entry], command), answer, command);
});

test("an entry with ` *` covers common uses of the listed programs", () => {
  const rows: [entry: string, ...commands: string[]][] = [
    ["git *", "git status", "git --no-pager log -1 --oneline", "git rev-parse --git-dir"],
    ["git *", "git diff -C HEAD", "git commit -m 'a > b'", "git config --get user.name"],
    ["git *", "git worktree list", "git bundle verify x", "git remote -v", "git remote show o"],
    ["git *", "git log --format=%H -n 3 -- a b", "git grep -n hi", "git rebase -i main"],
    ["sort *", "sort -t: -k2,2n -u f", "sort -to f"],
    ["tar *", "tar xzf a.tgz", "tar -tvf a.tar", "tar -czfI.tgz f"],
    ["sed *", "sed -n 1,10p f", "sed s/a/b/g f", "sed -E 's/[0-9]+/e/gI; $d' f", "sed '/a/!d' f"],
    ["sed *", "sed -n -e 1p -e '/w/,/e/p' f", "sed 's|a/e|b|' e f"],
    ["awk *", "awk '{print $1}' f", "awk -F: -v n=1 'NR == n' f"],
    ["rg *", "rg -n --pretty hi", "rg -e pre", "rg -tLua hi"],
    ["grep *", "grep -rn hi .", "grep -eR x", "grep -n hi a"],
    ["diff *", "diff -u a b", "diff -U3 a b"],
    ["git *", "git diff HEAD~1", "git reset --soft HEAD~1", "git log main~2..main~"],
    ["git *", "git switch -c x", "git commit -c HEAD", "git update-index --refresh"],
    ["wget *", "wget -nv u", "wget -np -q u"],
    ["rsync *", "rsync -av a b"],
    ["cp *", "cp -r a b", "cp -av a b"],
    ["zip *", "zip x a"],
    ["find *", "find . -name x -type f"],
    ["tree *", "tree -L 2", "tree -a"],
    ["git *", "git rebase -X ours main", "git merge -mfixes x/y", "git cherry-pick -s x/y"],
    ["curl *", "curl -sSL -XPOST -HAccept:json u", "curl --fail u", "curl --proto =https u"],
    ["curl *", `curl -d '{"a": [1, {"b": "http://h.example"}], "c": {}}' u`],
    ["npm test *", "npm test -- --watch", "npm test -s"],
    ["make *", "make -j4 test"],
    ["go test *", "go test -run x ./pkg"],
    ["env *", "env ls", "env -v ls"],
    ["timeout *", "timeout -vk1 5 ls", "timeout --signal=KILL 5 ls", "timeout --signal KILL 5 ls"],
    ["nice *", "nice -n5 ls", "nice --adjustment=5 ls"],
    ["ionice *", "ionice -tc 3 ls"],
    ["stdbuf *", "stdbuf -oL -e 0 ls"],
    ["watch *", "watch -tn 2 ls -l"],
    ["strace *", "strace -fs 80 ls"],
    ["flock *", "flock -n f ls", "flock --timeout 3 f ls"],
    ["command *", "command -v ls"],
    ["bash *", "bash -lc ls", "bash -e -c ls"],
  ];
  for (const [entry, ...commands] of rows)
    for (const command of commands)
      assert.equal(answerTo([entry, "ls *"], command), "allow", command);
});

test("a long sed script is read in time", () => {
  const started = process.cpuUsage();
  const scripts = [
    `p${" ".repeat(40_000)}e`,
    "s/".repeat(20_000),
    `${"p;".repeat(20_000)}e`,
    `p${" ; p".repeat(30)}x`,
    `p${" ; p".repeat(4_000)}x`,
  ];
  for (const script of scripts) assert.equal(answerTo(["sed *"], `sed '${script}'`), "ask");
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 2_000_000);
});

test("options before a subcommand that repeat take no long time", () => {
  const started = process.cpuUsage();
  for (const text of ["git -x ", "git ", "git -x -x=y "].flatMap((start) =>
    ["grep ", "config ", "-x grep ", "-x=y "].map((word) => start + word.repeat(2_000)),
  ))
    assert.equal(answerTo(["git -x"], text.trim()), "ask", text.slice(0, 40));
  const { user, system } = process.cpuUsage(started);
  assert.ok(user + system < 2_000_000);
});
