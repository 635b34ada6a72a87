//! `export` to files that are no regular files.

use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;

use super::harness::{Place, line};

#[test]
fn an_export_follows_links_and_leaves_pipes_and_devices_what_they_are() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", "")]);
        let expected = place.run(&["export"]).ok();

        symlink("target", place.path("link")).unwrap();
        place.run(&["export", "link"]).ok();
        assert!(place.path("link").is_symlink());
        assert_eq!(
            std::fs::read_to_string(place.path("target")).unwrap(),
            expected
        );

        let pipe = place.path("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        place.run(&["export", "pipe"]).ok();
        assert_eq!(reader.join().unwrap(), expected);
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());

        place.run(&["export", "/dev/null"]).ok();
        let null = std::fs::metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
        assert_eq!(place.run(&["export", "/dev/stdout"]).ok(), expected);
    });
}
