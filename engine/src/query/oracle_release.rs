//! Names of releases, read and weighed by the oracle (SEARCH.md 4.8 and 5.6): written again,
//! because it must not share code with the engine that it checks.

use crate::model::Year;
use crate::text::{Markers, fold, words};

/// A `query` value read as the name of a release.
pub(super) struct OracleRelease {
    pub(super) name: Vec<String>,
    pub(super) years: Vec<Year>,
    pub(super) tail: Vec<String>,
}

/// SEARCH.md 4.8; `None` when the value is not the name of a release.
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

/// SEARCH.md 5.6: the release words with their weights, each with the others of its family.
pub(super) fn weighed(sequence: &[String], text: &str) -> Vec<(String, u8, Vec<String>)> {
    const FAMILIES: [(u8, &str); 3] = [
        (
            4,
            "bluray/blu/bdrip/brrip/bdremux remux web/webdl/webrip hdtv/pdtv dvd/dvdrip hdrip \
             cam/hdcam telesync/hdts extended unrated directors remastered imax theatrical proper \
             repack",
        ),
        (
            3,
            "nf amzn/amazon hmax max dsnp atvp hulu pcok pmtp stan crav",
        ),
        (
            2,
            "480p 576p 720p 1080p 2160p/4k/uhd x264/h264/264/avc x265/h265/265/hevc av1",
        ),
    ];
    let mut sequence = sequence.to_vec();
    if 1 < sequence.len() && is_ending(&sequence[sequence.len() - 1]) {
        sequence.pop();
    }
    let group = group(text).filter(|group| sequence.contains(group));
    let group = group.or_else(|| sequence.last().cloned());
    let mut weighed: Vec<(String, u8, Vec<String>)> = Vec::new();
    for word in sequence {
        let (mut weight, mut relatives) = (1, Vec::new());
        for (family_weight, families) in FAMILIES {
            for family in families.split_whitespace() {
                let mut members: Vec<&str> = family.split('/').collect();
                if members.contains(&&*word) {
                    weight = if word == "uhd" { 4 } else { family_weight };
                    members.retain(|member| *member != word);
                    relatives = members.into_iter().map(str::to_string).collect();
                }
            }
        }
        if Some(&word) == group.as_ref() {
            weight = 8;
        }
        if !weighed.iter().any(|(known, ..)| *known == word) {
            weighed.push((word, weight, relatives));
        }
    }
    let mut heaviest = Vec::new();
    for weight in (1..=8).rev() {
        heaviest.extend(weighed.iter().filter(|word| word.1 == weight).cloned());
    }
    heaviest.truncate(16);
    heaviest
}

fn is_ending(word: &str) -> bool {
    const ENDINGS: &str = "srt sub ssa ass vtt zip rar mkv mp4 avi m4v ts mov wmv mpg mpeg flv \
                           ogm webm divx m2ts";
    ENDINGS.split_whitespace().any(|ending| ending == word)
}

/// SEARCH.md 5.6: the group of a text.
fn group(text: &str) -> Option<String> {
    const TAGS: &str = "obfuscated scrambled postbot xpost nzbgeek asrequested buymore chamele0n \
                        whiterev";
    let word_start = |characters: &[char]| {
        let is_word = |character: &&char| character.is_alphanumeric();
        characters.len() - characters.iter().rev().take_while(is_word).count()
    };
    let drop_signs = |characters: &mut Vec<char>, kept: &str| {
        let is_sign = |last: &char| !last.is_alphanumeric() && !kept.contains(*last);
        while characters.last().is_some_and(is_sign) {
            characters.pop();
        }
    };
    let mut characters: Vec<char> = text.chars().collect();
    let mut named = characters.clone();
    drop_signs(&mut named, "");
    let start = word_start(&named);
    let last = fold(&named[start..].iter().collect::<String>());
    if is_ending(&last) && named[..start].iter().any(|before| before.is_alphanumeric()) {
        characters = named[..start].to_vec();
    }
    loop {
        drop_signs(&mut characters, "]");
        let shorter = if characters.last() == Some(&']') {
            let bracket = characters.iter().rposition(|character| *character == '[');
            let before = &characters[..bracket.unwrap_or(0)];
            let start = word_start(before);
            let is_behind_word = start < before.len() && before[..start].last() == Some(&'-');
            is_behind_word.then(|| before.to_vec())
        } else {
            let start = word_start(&characters);
            let tag = characters[start..]
                .iter()
                .collect::<String>()
                .to_lowercase();
            let is_tag = TAGS.split_whitespace().any(|known| known == tag);
            let is_tag = is_tag || tag.starts_with("rakuv");
            let is_behind_dash = characters[..start].last() == Some(&'-');
            (is_tag && is_behind_dash).then(|| characters[..start - 1].to_vec())
        };
        match shorter {
            Some(shorter) => characters = shorter,
            None => break,
        }
    }
    let folded = fold(&characters.iter().collect::<String>());
    words(&folded).next_back().map(str::to_string)
}
