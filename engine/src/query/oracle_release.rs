//! Names of releases as the oracle reads and weighs them (SEARCH.md 4.8 and 5.6): written again,
//! because it must not share code with what it checks.

use crate::model::Year;
use crate::text::Markers;

/// A `query` value read as the name of a release.
pub(super) struct OracleRelease {
    pub(super) name: Vec<String>,
    pub(super) years: Vec<Year>,
    pub(super) tail: Vec<String>,
}

/// SEARCH.md 4.8; `None` when the value is not read so.
pub(super) fn read_release(words: &[String], markers: &Markers) -> Option<OracleRelease> {
    let episode = markers.episode.map(|marker| marker.word_idx);
    if episode == Some(0) {
        return None;
    }
    let mut years: Vec<(usize, Year)> = Vec::new();
    for (word_idx, word) in words.iter().enumerate() {
        let is_before_episode = episode.is_none_or(|episode| word_idx < episode);
        if let Some(year) = year_of(word).filter(|_| is_before_episode) {
            years.push((word_idx, year));
        }
    }
    let begins_with_year = years.iter().any(|(word_idx, _)| *word_idx == 0);
    years.retain(|(word_idx, _)| *word_idx != 0);
    let mut marks: Vec<usize> = years.iter().map(|(word_idx, _)| *word_idx).collect();
    marks.extend(episode);
    let name_len = match marks.iter().min() {
        Some(first_mark) => *first_mark,
        None if begins_with_year => 1,
        None => return None,
    };
    let mut tail = Vec::new();
    for (word_idx, word) in words.iter().enumerate().skip(name_len) {
        if !marks.contains(&word_idx) {
            tail.push(word.clone());
        }
    }
    Some(OracleRelease {
        name: words[..name_len].to_vec(),
        years: years.into_iter().map(|(_, year)| year).collect(),
        tail,
    })
}

fn year_of(word: &str) -> Option<Year> {
    let digits: Vec<char> = word.chars().collect();
    if digits.len() != 4 || !digits.iter().all(char::is_ascii_digit) {
        return None;
    }
    let number: u16 = word.parse().ok()?;
    Year::new(number).filter(|_| (1900..=2100).contains(&number))
}

/// SEARCH.md 5.6: the release words with their weights.
pub(super) fn weighed(sequence: &[String]) -> Vec<(String, u8)> {
    const ENDINGS: &str = "srt sub ssa ass vtt zip rar mkv mp4 avi m4v ts";
    const WEIGHT_4: &str = "bluray bdrip brrip bdremux remux uhd web webdl webrip hdtv pdtv dvd \
                            dvdrip hdrip cam hdcam telesync extended unrated directors remastered \
                            imax theatrical proper repack";
    const WEIGHT_3: &str = "nf amzn hmax max dsnp atvp hulu pcok pmtp stan crav";
    const WEIGHT_2: &str = "480p 576p 720p 1080p 2160p x264 h264 264 x265 h265 265 hevc av1";
    let is_in = |list: &str, word: &str| list.split_whitespace().any(|listed| listed == word);
    let mut sequence = sequence.to_vec();
    if 1 < sequence.len() && is_in(ENDINGS, &sequence[sequence.len() - 1]) {
        sequence.pop();
    }
    let last = sequence.last().cloned().unwrap_or_default();
    let mut weighed: Vec<(String, u8)> = Vec::new();
    for word in sequence {
        let weight = if word == last {
            8
        } else if is_in(WEIGHT_4, &word) {
            4
        } else if is_in(WEIGHT_3, &word) {
            3
        } else if is_in(WEIGHT_2, &word) {
            2
        } else {
            1
        };
        if !weighed.iter().any(|(known, _)| *known == word) {
            weighed.push((word, weight));
        }
    }
    weighed.truncate(16);
    weighed
}
