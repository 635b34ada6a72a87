//! `file`: stored files.

use crate::harness::Place;

#[test]
fn a_file_is_shown_and_forgotten() {
    Place::in_both_modes(|place| {
        place.import(&[]);
        let missing = place.run(&["file", "show", "r1"]).fails(1);
        assert!(
            missing.contains("no file of release r1 is stored"),
            "{missing}"
        );
        let missing = place.run(&["file", "forget", "r1"]).fails(1);
        assert!(
            missing.contains("no file of release r1 is stored"),
            "{missing}"
        );
        assert_eq!(place.run(&["file", "show", "../x"]).status, 2);
    });
}
