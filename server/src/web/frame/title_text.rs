//! Titles as pages show them: their paths, and their texts without what stands beside them.

/// Path of the page of a title.
pub(crate) fn title_path(number: u64) -> String {
    format!("/title/tt{number:07}")
}

/// `S01E02`, `S01` for a season, or nothing.
pub(crate) fn episode_number(season: Option<u16>, episode: Option<u16>) -> String {
    match (season, episode) {
        (Some(season), Some(episode)) => format!("S{season:02}E{episode:02}"),
        (Some(season), None) => format!("S{season:02}"),
        (None, Some(episode)) => format!("E{episode:02}"),
        (None, None) => String::new(),
    }
}

/// A title without a year or an episode number at its end that is shown beside it.
pub(crate) fn bare_title(
    title: &str,
    year: Option<u32>,
    season: Option<u16>,
    episode: Option<u16>,
) -> &str {
    let year = year.map(|year| format!("({year})"));
    let number = match (season, episode) {
        (Some(season), Some(episode)) => format!("{season}x{episode:02}"),
        _ => String::new(),
    };
    let endings = [
        year.unwrap_or_default(),
        episode_number(season, episode),
        number,
    ];
    let mut title = title;
    for ending in endings.iter().filter(|ending| !ending.is_empty()) {
        let start = title.len().saturating_sub(ending.len());
        let is_there = title
            .get(start..)
            .is_some_and(|end| end.eq_ignore_ascii_case(ending));
        let rest = title
            .get(..start)
            .unwrap_or("")
            .trim_end_matches([' ', '-', ',']);
        if is_there && !rest.is_empty() {
            title = rest;
        }
    }
    title
}

pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars_max) {
        None => line,
        Some((end, _)) => {
            let end = line[..end].rfind(' ').unwrap_or(end);
            format!("{}…", &line[..end])
        }
    }
}
