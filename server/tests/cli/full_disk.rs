//! A disk that is really full: a small tmpfs that the test mounts, which takes root.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Place, get, line};

/// Room for the data and for what is kept free.
const DISK_MIB: u32 = 72;
/// The least that may be kept free.
const RESERVE: [&str; 2] = ["--set", "disk.reserve_bytes=48 MiB"];

/// A mounted tmpfs; unmounted on drop.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(path: &Path) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_MIB}m"), "tmpfs"])
            .arg(path)
            .status();
        let path = path.to_path_buf();
        mounted
            .is_ok_and(|it| it.success())
            .then_some(Self { path })
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        let mut filler = fs::File::create(self.path.join("filler")).unwrap();
        for piece in [1 << 16, 1 << 10, 1] {
            while filler.write_all(&vec![0; piece]).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.path.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}

/// The total of a search, as long as a full disk is said to be there.
#[track_caller]
fn total_on_a_full_disk(place: &Place, api_key: &str) -> u64 {
    let ready = get(&place.server().admin, "/readyz", None);
    assert_eq!(ready.status, 200, "reads are answered");
    assert!(ready.text().contains("read-only: "), "{}", ready.text());
    let metrics = get(&place.server().admin, "/metrics", None).text();
    assert!(metrics.contains("subcat_disk_full 1\n"), "{metrics}");
    let path = "/api/subtitles/search?title=heat";
    let found = place.server().get(path, Some(api_key));
    assert_eq!(found.status, 200);
    found.json()["total"].as_u64().unwrap()
}

#[test]
fn the_server_starts_reads_and_recovers_on_a_full_disk() {
    let mut place = Place::stopped();
    let Some(disk) = SmallDisk::mount(&place.path("disk")) else {
        eprintln!("SKIPPED: mounting a tmpfs needs root");
        return;
    };
    fs::create_dir(disk.path.join("data")).unwrap();
    symlink(disk.path.join("data"), place.path("data")).unwrap();
    place.start_server(&RESERVE);
    place.import(&[line(1, "Heat", "")]);
    let api_key = place.create_key(&[]);

    // It fills while the server runs.
    disk.fill();
    let records = place.write("more.jsonl", line(2, "Ronin", ""));
    let refused = place.run(&["import", &records]).fails(1);
    assert!(refused.contains("make room"), "{refused}");
    place.run(&["key", "create", "--name", "late"]).fails(1);
    assert_eq!(place.server().get("/api/health", None).status, 200);
    // Killed, it starts again without a byte to write to.
    place.kill_server();
    place.start_server(&RESERVE);
    assert_eq!(total_on_a_full_disk(&place, &api_key), 1);
    assert_eq!(place.run(&["export"]).ok().lines().count(), 1);

    disk.make_room();
    place.run(&["import", &records]).ok();
    place.create_key(&[]);
    assert_eq!(place.stop_server(), 0);
    place.run(&["verify"]).ok();
    assert_eq!(place.run(&["export"]).ok().lines().count(), 2);
}
