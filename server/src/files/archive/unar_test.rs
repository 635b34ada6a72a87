//! Rar archives of every method, unpacked here and by `unar`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

use rars::{ArchiveVersion, Builder};
use subcat_engine::FileKind;

use super::reader::Archive;
use super::samples::{Sample, rar4_of, rar5_of};

/// Content of each file by its path.
type Unpacked = BTreeMap<String, Vec<u8>>;

/// Files as `unar` unpacks them; `None` if it is not installed.
fn unpacked_by_unar(rar: &[u8]) -> Option<Unpacked> {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("sample.rar");
    let target = dir.path().join("unpacked");
    std::fs::write(&archive, rar).unwrap();
    let mut command = Command::new("unar");
    command.args(["-quiet", "-no-directory", "-output-directory"]);
    command.arg(&target).arg(&archive).stderr(Stdio::null());
    match command.status() {
        Ok(status) => assert!(status.success(), "unar: {status}"),
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => panic!("unar does not start: {error}"),
    }
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(&path).unwrap())
    };
    Some(std::fs::read_dir(&target).unwrap().map(read).collect())
}

fn unpacked_here(rar: &[u8]) -> Unpacked {
    let archive = Archive::read(rar, FileKind::Rar).unwrap();
    assert_eq!(archive.fault(), None);
    let entries = archive.entries().iter().enumerate();
    let unpacked = entries.map(|(idx, entry)| (entry.path.clone(), archive.unpack(idx).unwrap()));
    unpacked.collect()
}

/// Three texts: one that compresses well, one that does not, and a short one. None is in a
/// directory: the separators of old archives are read in several ways.
fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let cue = |number: u32| format!("{number}\n00:00:01,000 --> 00:00:02,000\nHola {number}\n\n");
    let text: String = (0..2_000).map(cue).collect();
    let mut state = 1_u32;
    let noise = (0..20_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    vec![
        ("text.srt", text.into_bytes()),
        ("noise.srt", noise.collect()),
        ("short.srt", b"1\n0:1 --> 0:2\nx\n\n".to_vec()),
    ]
}

fn samples() -> Vec<Vec<u8>> {
    let contents = contents();
    let files: Vec<Sample<'_>> = contents
        .iter()
        .map(|(name, content)| Sample {
            name: name.as_bytes(),
            content,
        })
        .collect();
    let mut samples = vec![rar4_of(&files), rar5_of(&files)];
    for version in [ArchiveVersion::Rar29, ArchiveVersion::Rar50] {
        for level in [1, 3, 5] {
            for is_solid in [false, true] {
                let mut builder = Builder::new(version)
                    .compression_level(Some(level))
                    .solid(is_solid);
                for (name, content) in &contents {
                    let (name, content) = (name.as_bytes().to_vec(), content.clone());
                    builder.add_bytes(name, content, None, None).unwrap();
                }
                samples.push(builder.to_bytes().unwrap());
            }
        }
    }
    samples
}

#[test]
fn rar_archives_unpack_as_unar_unpacks_them() {
    let expected: Unpacked = contents()
        .into_iter()
        .map(|(name, content)| (name.to_owned(), content))
        .collect();
    for (number, sample) in samples().iter().enumerate() {
        assert!(unpacked_here(sample) == expected, "sample {number}");
        match unpacked_by_unar(sample) {
            Some(unpacked) => assert!(unpacked == expected, "sample {number} by unar"),
            None => eprintln!("skipped: unar is not installed, sample {number} is not compared"),
        }
    }
}
