//! The steps of `packaging/compose.yaml` on real mount points: volumes for data and backups, and
//! nothing else that can be written.

use std::process::{Command, Stdio};

use crate::harness::{Place, line};

/// Follows the file's volumes in a mount namespace of its own. Each line fails the whole.
const STEPS: &str = r#"
set -eu
program=$1 place=$2
mount --bind "$place" "$place"
mount -t tmpfs none "$place/data"
mount -t tmpfs none "$place/backups"
# As in a fresh volume of ext4.
mkdir -m 700 "$place/data/lost+found" "$place/backups/lost+found"
mount -o remount,ro,bind "$place"
if touch "$place/x" 2>/dev/null; then echo "the rest can be written"; exit 1; fi
export SUBCAT_DATA="$place/data" SUBCAT_WORKERS=1
"$program" import "$place/first.jsonl"
"$program" verify
if "$program" backup "$place/data/monday" 2>"$place/backups/said"; then
    echo "a backup inside was made"; exit 1
fi
grep -q "would be lost with it" "$place/backups/said"
"$program" backup "$place/backups/monday"
"$program" backup --keep 2 "$place/backups"
"$program" import "$place/second.jsonl"
"$program" restore "$place/backups/monday"
"$program" stats --json > "$place/backups/stats"
grep -q '"records":1,' "$place/backups/stats"
test -d "$place/data/replaced-1"
test -d "$place/data/lost+found"
"$program" verify
"$program" restore "$place/backups/monday"
test -d "$place/data/replaced-2"
"#;

#[test]
fn a_catalog_in_volumes_is_filled_backed_up_and_restored() {
    let place = Place::stopped();
    for name in ["data", "backups"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    place.write("first.jsonl", line(1, "Heat", ""));
    place.write("second.jsonl", line(2, "Ronin", ""));
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user"]).args(arguments);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let mut tried = unshare(&["mount", "-t", "tmpfs", "none", "/tmp"]);
    let tried = tried.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no mount namespace is allowed here, so volumes were not tried");
        return;
    }
    let directory = place.path("");
    let mut steps = unshare(&["sh", "-c", STEPS, "sh", env!("CARGO_BIN_EXE_subcat")]);
    steps.arg(directory.to_str().unwrap().trim_end_matches('/'));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SUBCAT_") {
            steps.env_remove(name);
        }
    }
    let output = steps.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The volumes that the test follows are those of the file.
#[test]
fn the_compose_file_has_volumes_for_data_and_backups() {
    let compose = include_str!("../../packaging/compose.yaml");
    for part in [
        "- data:/data\n",
        "- backups:/backups\n",
        "read_only: true\n",
    ] {
        assert!(compose.contains(part), "{part}");
    }
    let dockerfile = include_str!("../../packaging/Dockerfile");
    assert!(dockerfile.contains("/backups"), "{dockerfile}");
}
