//! Archives, characters, conversion and the choice of a text, within their budget.

use std::time::{Duration, Instant};

use subcat_engine::{
    ChoiceRecord, FileKind, Language, TextCandidate, TextRequest, VideoType, choose_text,
    listed_numbers,
};
use subcat_server::files::{
    Archive, archive_names, archive_texts, convert, decode_text, first_cues, unpack_text,
};
use subcat_server::request::TextFormat;

/// Time for one input: a few times what the largest takes.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes of a text for each byte that it is made from: a tag of one letter gets an end, a timing
/// line its full length.
const GROWTH_MAX: usize = 64;

/// Bytes of a decoded name: three for each byte that is decoded.
const NAME_BYTES_MAX: usize = 3 * (4 << 10);

/// Any bytes as an archive of each kind have a directory, or none, soon.
pub fn archive_listing(data: &[u8]) {
    let started = Instant::now();
    for (kind, content) in archives(data) {
        let Some(archive) = Archive::read(&content, kind) else {
            continue;
        };
        assert!(archive.entries().len() <= 1_000);
        for entry in archive.entries() {
            assert!(entry.path.len() <= NAME_BYTES_MAX);
        }
        archive_names(&content, kind);
    }
    assert!(started.elapsed() < TIME_MAX);
}

/// Unpacked texts have the size that their header says, of 10 MiB or less.
pub fn archive_unpacking(data: &[u8]) {
    let started = Instant::now();
    for (kind, content) in archives(data) {
        let Some(archive) = Archive::read(&content, kind) else {
            continue;
        };
        let texts = archive_texts(&archive).unwrap_or_default();
        for text in texts.iter().take(3) {
            if let Ok(content) = unpack_text(&archive, text.entry_idx) {
                assert_eq!(content.len() as u64, text.size_bytes);
                assert!(content.len() <= 10 << 20);
            }
        }
    }
    assert!(started.elapsed() < TIME_MAX);
}

/// Decoding is total, and what is plain UTF-8 stays as it is.
pub fn text_characters(data: &[u8]) {
    for language in ["es", "ru", "th", "he", ""] {
        let text = decode_text(data, language);
        assert!(text.len() <= 3 * data.len() + 3);
    }
    for kind in [FileKind::Srt, FileKind::Sub, FileKind::Ass] {
        assert!(first_cues(data, kind, "es", 20).len() <= 20);
    }
}

/// Written texts can be converted again, and stay as they are.
pub fn text_conversion(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for format in [TextFormat::Srt, TextFormat::Vtt] {
        let Ok(written) = convert(&text, format) else {
            continue;
        };
        assert!(written.len() <= GROWTH_MAX * (text.len() + 8), "{text:?}");
        // A line that begins a script makes another format of what was written, and more than 999
        // hours, which many frames are, are written but not read.
        let is_read = !text.to_ascii_lowercase().contains("[events]") && !has_long_hours(&written);
        if is_read {
            assert_eq!(convert(&written, format).as_ref(), Ok(&written), "{text:?}");
        }
    }
}

/// Returns true if a time of a written text has more than three digits of hours.
fn has_long_hours(written: &str) -> bool {
    let times = written.lines().filter_map(|line| line.split_once(" --> "));
    let mut hours = times.flat_map(|(start, end)| [start, end]);
    hours.any(|time| time.find(':').is_some_and(|digits| 3 < digits))
}

/// A text that is chosen is one of the candidates, whatever their paths are.
pub fn text_choice(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let paths: Vec<&str> = text.split('\n').take(50).collect();
    let candidates: Vec<TextCandidate<'_>> = paths
        .iter()
        .map(|path| TextCandidate {
            path,
            size_bytes: path.len() as u64,
        })
        .collect();
    let request = TextRequest {
        season: data.first().map(|byte| u16::from(*byte % 4)),
        episode: data.last().map(|byte| u16::from(*byte % 8)),
        release: paths.first().map(|path| (*path).to_owned()),
        ..TextRequest::default()
    };
    let language = Language::parse("es-MX").expect("it is well formed");
    for video_type in [VideoType::Movie, VideoType::Episode] {
        let record = ChoiceRecord {
            video_type,
            title: paths.last().copied().unwrap_or_default(),
            year: Some(2004),
            season: Some(1),
            episode: None,
            language: &language,
            is_forced: false,
            is_hearing_impaired: false,
        };
        let chosen = choose_text(&candidates, &request, &record);
        assert!(chosen.is_none_or(|idx| idx < candidates.len()));
    }
    assert_eq!(listed_numbers(&paths, Some(1)).len(), paths.len());
}

/// The bytes behind the marks of archives, and samples of archives with some bytes replaced.
fn archives(data: &[u8]) -> Vec<(FileKind, Vec<u8>)> {
    let behind = |mark: &[u8]| [mark, data].concat();
    let mut archives = vec![
        (FileKind::Zip, data.to_vec()),
        (FileKind::Zip, behind(b"PK\x03\x04")),
        (FileKind::Rar, behind(b"Rar!\x1A\x07\x00")),
        (FileKind::Rar, behind(b"Rar!\x1A\x07\x01\x00")),
    ];
    for (kind, sample) in SAMPLES {
        let mut sample = sample.to_vec();
        for change in data.chunks_exact(3).take(8) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % sample.len();
            sample[at] = change[2];
        }
        archives.push((*kind, sample));
    }
    archives
}

/// An archive of each kind with two small texts.
const SAMPLES: &[(FileKind, &[u8])] = &[
    (
        FileKind::Zip,
        include_bytes!("../../regressions/archive_unpacking/two.zip"),
    ),
    (
        FileKind::Rar,
        include_bytes!("../../regressions/archive_unpacking/two_4.rar"),
    ),
    (
        FileKind::Rar,
        include_bytes!("../../regressions/archive_unpacking/two_5.rar"),
    ),
];
