//! Kills git in the middle of its work: in a smudge filter, with the working tree half written and
//! the index locked, or in its `reference-transaction` hook, with references locked.

use std::fs;

use super::sandbox::Sandbox;

/// The processes that are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The git that is working; the program survives.
    Git,
    /// The program, then its git children.
    Both,
}

pub const VICTIMS: [Victim; 2] = [Victim::Git, Victim::Both];

/// The points at which git can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Before it writes a file.
    Smudge,
    /// When a reference transaction is prepared, and when it is committed or aborted.
    Transaction,
}

/// Kills git at the `nth` of these moments, counted from now on. With 0 they are only counted.
pub fn strike(sandbox: &Sandbox, spot: Spot, nth: u64, victim: Victim) {
    let root = sandbox.root();
    let count = root.join("moments").display().to_string();
    fs::write(&count, "0\n").unwrap();
    let all = match victim {
        Victim::Git => "",
        Victim::Both => "while [ \"$(name $p)\" = git ]; do p=$(up $p); pids=\"$p $pids\"; done",
    };
    let strike = root.join("bin/strike");
    let script = format!(
        "up() {{ if read -r stat </proc/$1/stat; then set -- ${{stat##*) }}; echo $2; \
         else ps -o ppid= -p $1 | tr -d ' '; fi 2>/dev/null; }}\n\
         name() {{ cat /proc/$1/comm 2>/dev/null || basename \"$(ps -o comm= -p $1)\"; }}\n\
         read -r n <'{count}'; n=$((n + 1)); echo $n >'{count}'.$$; mv '{count}'.$$ '{count}'\n\
         [ $n = {nth} ] || exit 0\n\
         p=$1; pids=$1\n{all}\nkill -9 $pids"
    );
    sandbox.executable(&strike, &script);
    let strike = strike.display().to_string();
    match spot {
        Spot::Smudge => {
            let smudge = root.join("bin/smudge");
            sandbox.executable(&smudge, &format!("'{strike}' $PPID\nexec cat"));
            sandbox.git(&["config", "filter.strike.smudge", &smudge.display().to_string()]);
            sandbox.git(&["config", "filter.strike.clean", "cat"]);
            sandbox.write(".git/info/attributes", "* filter=strike\n");
        }
        Spot::Transaction => sandbox.hook("reference-transaction", &format!("'{strike}' $PPID")),
    }
}

/// Stops killing git; returns the number of such moments.
pub fn spare(sandbox: &Sandbox) -> u64 {
    sandbox.executable(&sandbox.root().join("bin/strike"), "exit 0");
    let count = fs::read_to_string(sandbox.root().join("moments")).unwrap();
    count.trim().parse().unwrap()
}

/// The moments to try: the first, one in the middle and the last; all of them in a long run.
pub fn some_of(count: u64) -> Vec<u64> {
    assert!(count > 0, "there is no moment to kill at");
    if std::env::var_os("COWORK_KILL_TRIALS").is_some() {
        return (1..=count).collect();
    }
    let mut some = vec![1, count.div_ceil(2), count];
    some.dedup();
    some
}
