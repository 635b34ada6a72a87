//! The page of a title: the releases of a film by the variety of their language, or a series as a
//! grid of its seasons and episodes.

use std::collections::BTreeMap;

use askama::Template;
use http::StatusCode;
use subcat_engine::{EpisodeSlot, ListPage, Snapshot, TitlePart};

use super::feed_link::{own_feed, public_feed};
use super::record_view::{
    RecordView, below_heading, packs_with, same_releases_together, title_number,
};
use crate::limits::{GRID_EPISODES_MAX, HITS_PER_PAGE, LIST_PAGES_MAX};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::language::Lang;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::title_text::{episode_number, title_path};
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/title.html")]
struct TitlePage {
    page: Frame,
    name: String,
    year: Option<u32>,
    /// `tt0133093`.
    catalog_id: String,
    /// Path of this page without parameters.
    path: String,
    /// `11 subtitles`.
    total: String,
    seasons: Vec<SeasonView>,
    /// True if there are too many seasons for a grid: they are a row, and the chosen one is open.
    is_long: bool,
    /// `S01E02` or `S01`, if a part of the series was chosen; else empty.
    part: String,
    groups: Vec<ReleaseGroup>,
    /// Packs of the season of a chosen episode, which are offered without the other episodes.
    packs: Vec<RecordView>,
    page_number: usize,
    has_next: bool,
    /// Query string of the chosen part, for links to its other pages.
    search: String,
    /// Address of the feed of the title, if anybody may read it; else empty.
    feed_path: String,
    /// Parameter of the title's feed, for readers with an address of their own; else empty.
    feed_hint: String,
}

/// A season of a series.
struct SeasonView {
    /// Zero for records without a season.
    number: u16,
    /// Records of whole seasons.
    packs_count: u32,
    records_count: u32,
    /// Episodes of the season; empty if there are too many to show all and another season was
    /// chosen.
    episodes: Vec<EpisodeView>,
    is_chosen: bool,
}

impl SeasonView {
    /// The counts in words: `4 subtitles, 1 pack`.
    fn in_words(&self, lang: &Lang) -> String {
        let all = subtitles(self.records_count, *lang);
        match self.packs_count {
            0 => all,
            1 => format!("{all}, 1 pack"),
            packs_count => format!("{all}, {} packs", lang.number(u64::from(packs_count))),
        }
    }
}

/// A number of records: `1 subtitle`, `4 subtitles`.
fn subtitles(count: u32, lang: Lang) -> String {
    let word = match count {
        1 => lang.t("subtitle", "subtítulo"),
        _ => lang.t("subtitles", "subtítulos"),
    };
    format!("{} {word}", lang.number(u64::from(count)))
}

/// An episode, and how many records it has.
struct EpisodeView {
    number: u16,
    records_count: u32,
    is_chosen: bool,
}

impl EpisodeView {
    /// The count in words: `2 subtitles`.
    fn in_words(&self, lang: &Lang) -> String {
        subtitles(self.records_count, *lang)
    }
}

/// Records under one heading.
struct ReleaseGroup {
    /// Empty if there is one group only.
    heading: String,
    hits: Vec<RecordView>,
}

/// `GET /title/{id}`: `season` and `episode` choose a part of a series, `page` a page.
pub(crate) fn show(request: &WebRequest, id: &str) -> PageResult {
    request.reader()?;
    let number = title_number(id).ok_or(PageError::NotFound)?;
    let snapshot = request.site.service.engine.catalog().snapshot();
    let counts = snapshot.episodes_of_title(number)?;
    let chosen = EpisodeSlot {
        season: request.query.get("season").parse().ok(),
        episode: request.query.get("episode").parse().ok(),
    };
    let page_number = request.query.get("page").parse().unwrap_or(1);
    let page_number = usize::clamp(page_number, 1, LIST_PAGES_MAX);
    let page = ListPage {
        skipped: (page_number - 1) * HITS_PER_PAGE,
        size: HITS_PER_PAGE,
    };
    let listing = snapshot.of_title(number, part_of(chosen), page)?;
    let Some(newest) = newest_of(request, &snapshot, number)? else {
        return Err(PageError::NotFound);
    };
    let hits = RecordView::list(request, &snapshot, &listing.docs)?;
    let hits = below_heading(same_releases_together(hits), chosen.episode.is_some());
    let packs = packs_with(request, &snapshot, number, chosen)?;
    snapshot.ensure_not_truncated()?;
    let total: u32 = counts.values().sum();
    let is_series = counts.keys().any(|slot| slot.season.is_some());
    let mut page = request.frame("/catalog");
    page.canonical = request.canonical(&canonical_path(number, chosen));
    let template = TitlePage {
        page,
        name: newest.title().to_owned(),
        year: newest.record.year,
        catalog_id: format!("tt{number:07}"),
        path: title_path(number),
        total: subtitles(total, request.lang),
        seasons: if is_series {
            seasons(&counts, chosen)
        } else {
            Vec::new()
        },
        is_long: is_series && GRID_EPISODES_MAX < counts.len(),
        part: episode_number(chosen.season, chosen.episode),
        groups: groups(hits, chosen, request.lang),
        packs,
        page_number,
        has_next: listing.has_more && page_number < LIST_PAGES_MAX,
        search: request.query.without(&["lang", "theme", "page"]),
        feed_path: public_feed(request, &format!("title_id=tt{number:07}")),
        feed_hint: own_feed(request, &format!("title_id=tt{number:07}")),
    };
    answer::page(StatusCode::OK, &template)
}

/// Path of a part of a title, without what changes the view only.
fn canonical_path(number: u64, chosen: EpisodeSlot) -> String {
    let path = title_path(number);
    match (chosen.season, chosen.episode) {
        (Some(season), Some(episode)) => format!("{path}?season={season}&episode={episode}"),
        (Some(season), None) => format!("{path}?season={season}"),
        (None, _) => path,
    }
}

/// The newest record of a title, which gives the page its name.
fn newest_of(
    request: &WebRequest,
    snapshot: &Snapshot,
    number: u64,
) -> Result<Option<RecordView>, PageError> {
    let listing = snapshot.of_title(number, TitlePart::All, ListPage::first(1))?;
    Ok(RecordView::list(request, snapshot, &listing.docs)?.pop())
}

fn part_of(chosen: EpisodeSlot) -> TitlePart {
    match (chosen.season, chosen.episode) {
        (Some(_), Some(_)) => TitlePart::Slot(chosen),
        (Some(season), None) => TitlePart::Season(season),
        (None, _) => TitlePart::All,
    }
}

/// The grid. Of a series with very many episodes only the chosen season is shown whole: the page
/// stays small.
fn seasons(counts: &BTreeMap<EpisodeSlot, u32>, chosen: EpisodeSlot) -> Vec<SeasonView> {
    let is_small = counts.len() <= GRID_EPISODES_MAX;
    let mut seasons: Vec<SeasonView> = Vec::new();
    for (slot, &count) in counts {
        let number = slot.season.unwrap_or(0);
        if seasons.last().is_none_or(|season| season.number != number) {
            seasons.push(SeasonView {
                number,
                packs_count: 0,
                records_count: 0,
                episodes: Vec::new(),
                is_chosen: slot.season == chosen.season && chosen.season.is_some(),
            });
        }
        let Some(season) = seasons.last_mut() else {
            continue;
        };
        season.records_count += count;
        match slot.episode {
            None => season.packs_count += count,
            Some(episode) if is_small || season.is_chosen => season.episodes.push(EpisodeView {
                number: episode,
                records_count: count,
                is_chosen: season.is_chosen && chosen.episode == Some(episode),
            }),
            Some(_) => {}
        }
    }
    seasons
}

/// Groups of a film or an episode by language, and of Spanish by its variety, Spain first; a season
/// or a whole series is one list in its own order.
fn groups(hits: Vec<RecordView>, chosen: EpisodeSlot, lang: Lang) -> Vec<ReleaseGroup> {
    let has_episodes = hits.iter().any(|hit| hit.record.season.is_some());
    if has_episodes && chosen.episode.is_none() {
        let heading = String::new();
        return vec![ReleaseGroup { heading, hits }];
    }
    let mut groups: BTreeMap<(u8, String), Vec<RecordView>> = BTreeMap::new();
    for mut hit in hits {
        hit.names_language = false;
        let heading = match hit.badge.class {
            "spain" => (0, lang.t("Spain", "España").to_owned()),
            "latin" => (1, lang.t("Latin America", "Latinoamérica").to_owned()),
            "neutral" => {
                let heading = lang.t("Spanish, no region stated", "Español sin región indicada");
                (2, heading.to_owned())
            }
            _ => (3, hit.badge.name.clone()),
        };
        groups.entry(heading).or_default().push(hit);
    }
    let groups = groups.into_iter();
    groups
        .map(|((_, heading), hits)| ReleaseGroup { heading, hits })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(season: u16, episode: u16) -> EpisodeSlot {
        EpisodeSlot {
            season: Some(season).filter(|it| *it != 0),
            episode: Some(episode).filter(|it| *it != 0),
        }
    }

    #[test]
    fn a_series_is_a_grid_of_seasons_with_their_packs() {
        let counts = BTreeMap::from([
            (slot(1, 0), 2),
            (slot(1, 1), 3),
            (slot(1, 2), 1),
            (slot(2, 1), 4),
        ]);
        let seasons = seasons(&counts, slot(1, 2));
        assert_eq!(seasons.len(), 2);
        assert_eq!(seasons[0].in_words(&Lang::Es), "6 subtítulos, 2 packs");
        assert_eq!(subtitles(1, Lang::En), "1 subtitle");
        let chosen: Vec<bool> = seasons[0].episodes.iter().map(|it| it.is_chosen).collect();
        assert_eq!(chosen, [false, true]);
        assert_eq!(seasons[1].episodes.len(), 1);
    }

    #[test]
    fn of_a_long_series_only_the_chosen_season_is_shown_whole() {
        let slots = (1..=30).flat_map(|season| (1..=20).map(move |it| (slot(season, it), 1)));
        let counts: BTreeMap<EpisodeSlot, u32> = slots.collect();
        let seasons = seasons(&counts, slot(7, 0));
        let shown: Vec<usize> = seasons.iter().map(|it| it.episodes.len()).collect();
        assert_eq!(shown.iter().sum::<usize>(), 20);
        assert_eq!(shown[6], 20);
        assert_eq!(seasons[0].records_count, 20);
    }
}
