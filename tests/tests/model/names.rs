//! Names on hand-written catalogs (SEARCH.md 4.11 to 4.18): oracle and engine find what a reader of
//! the page expects.

use subcat_engine::{Record, VideoType};
use subcat_tests::rules::{With, episode, film, finds, pack, ranks};

/// A series of two seasons with packs, a film of its title, and series that contain it.
fn dark() -> Vec<Record> {
    vec![
        episode(1, "Dark", 2, 4).year(2017),
        episode(2, "Dark", 1, 4).year(2017),
        pack(3, "Dark", 2).year(2017),
        film(4, "Dark").year(2005),
        episode(5, "Dark Matter", 2, 4),
        episode(6, "His Dark Materials", 2, 4),
    ]
}

/// An episode without season and number, whose description has this text.
fn daily(number: u8, title: &str, description: &str) -> Record {
    Record {
        video_type: VideoType::Episode,
        ..film(number, title).described(description)
    }
}

#[test]
fn search_rule_4_11_names_that_tell_an_episode() {
    for query in [
        "Dark Temporada 2 Capítulo 4.mkv",
        "Dark Capítulo 4 de la temporada 2",
        "Dark T2 Cap 4.avi",
        "Dark - Season 2, Episode 4 [720p].mkv",
        "www.sitio.example - Dark S02E04 720p.mkv",
        "[grupo] Dark S02E04 [720p].mkv",
    ] {
        let parameters = format!("query={query}");
        finds(&dark(), &parameters, &[1, 3]);
    }
}

#[test]
fn search_rule_4_12_an_episode_leaves_releases_out() {
    let catalog = [
        film(1, "2005").year(2005),
        episode(2, "2005", 1, 12),
        episode(3, "2005", 1, 11),
    ];
    finds(&catalog, "query=2005.EP12", &[2]);
    finds(&dark(), "query=Dark S02 Capítulo 9", &[3]);
}

#[test]
fn search_rule_4_13_numbers_that_may_be_an_episode() {
    let catalog = [
        episode(1, "Los Serrano", 3, 7),
        episode(2, "Los Serrano", 3, 8),
        episode(3, "Mushishi", 1, 12),
        episode(4, "Mushishi", 2, 12),
        film(5, "Mushishi").year(2006),
        episode(6, "Brooklyn Nine-Nine", 1, 1),
    ];
    finds(&catalog, "query=Los Serrano [HDTV][Cap.307]", &[1]);
    finds(&catalog, "query=los.serrano.307.hdtv-lol", &[1]);
    finds(&catalog, "query=Mushishi - 12.mkv", &[3]);
    finds(&catalog, "query=[Grupo] Mushishi - 12v2 [720p].mkv", &[3]);
    finds(&catalog, "query=Mushishi EP12", &[3]);
    finds(&catalog, "query=Mushishi 2x12", &[4]);
    // Better no answer than another episode.
    finds(&catalog, "query=Los Serrano [Cap.309]", &[]);
    finds(&catalog, "query=Mushishi - 13.mkv", &[]);
    let mut dark = dark();
    dark.push(episode(7, "Dark", 2, 5).year(2017));
    finds(&dark, "query=dark.2017.204.hdtv", &[1]);
    finds(&dark, "query=dark.2017.209.hdtv", &[]);
}

#[test]
fn search_rule_4_13_a_title_with_a_number_is_looked_up_first() {
    let catalog = [
        film(1, "Brooklyn 99").year(2013),
        episode(2, "Brooklyn", 1, 99),
    ];
    finds(&catalog, "query=Brooklyn 99 1080p", &[1]);
}

#[test]
fn search_rule_4_14_titles_as_read_or_with_one_change() {
    let catalog = [
        film(1, "Volver").year(2006),
        episode(2, "The Office", 3, 13),
        daily(3, "El hormiguero", "Programa del 14 de marzo de 2019"),
        daily(4, "El hormiguero", "Programa del 15 de marzo de 2019"),
        episode(5, "Castle", 3, 4).year(2009),
    ];
    finds(&catalog, "query=Volver.DVDRip.XviD-GRP.avi", &[1]);
    finds(&catalog, "query=Volver.mkv", &[1]);
    finds(&catalog, "query=The Office (US) S03E13 720p", &[2]);
    finds(&catalog, "query=The.Office.US.S03E13.720p", &[2]);
    finds(&catalog, "query=El hormiguero 14.03.2019", &[3]);
    finds(&catalog, "query=El hormiguero 2019-03-15.avi", &[4]);
    finds(&catalog, "query=El hormiguero 16.03.2019", &[]);
    ranks(&catalog, "title=The Office (US) S03E13", &[(2, 8, 0)]);
    ranks(&catalog, "title=Castle (2009) S03E04", &[(5, 8, 0)]);
}

#[test]
fn search_rule_4_14_only_when_no_branch_has_matched() {
    let catalog = [
        film(1, "Volver").year(2006),
        film(2, "Heat").catalog_id("tt12345"),
    ];
    finds(
        &catalog,
        "query=Volver.DVDRip.XviD&catalog_id=tt12345",
        &[2],
    );
    finds(&catalog, "query=Volver.DVDRip.XviD&catalog_id=tt99", &[1]);
}

#[test]
fn search_rule_4_15_films_with_a_year() {
    let catalog = [
        film(1, "Blade Runner").year(1982),
        film(2, "Volver").year(2006),
        film(3, "Volver").year(2016),
        episode(4, "Volver", 1, 1).year(2007),
    ];
    finds(&catalog, "query=Blade Runner (Final Cut) (1982)", &[1]);
    finds(&catalog, "query=Volver.2007.720p.mkv", &[4]);
    finds(&catalog[..3], "query=Volver.2007.720p.mkv", &[2]);
    finds(&catalog, "query=03 - Volver (2006)", &[2]);
    finds(&catalog, "query=Volver.1999.720p", &[]);
}

#[test]
fn search_rule_4_16_every_word_of_the_title() {
    let catalog = [
        episode(1, "La casa de papel", 1, 1).described("Money Heist"),
        episode(2, "La casa de papel", 1, 2).described("Money Heist"),
        film(3, "Money").year(2011),
    ];
    ranks(
        &catalog,
        "query=Money.Heist.S01E01.720p.NF-GRP",
        &[(1, 8, 4)],
    );
    finds(&catalog, "query=Money.Heist.720p.NF-GRP", &[]);
}

#[test]
fn search_rule_4_17_a_title_is_a_name_when_nothing_is_left() {
    finds(&dark(), "title=Dark Temporada 2", &[3, 1]);
    finds(&dark(), "title=Dark Temporada 2 720p", &[]);
    finds(&dark(), "title=Dark Temporada 2&query=heat", &[3, 1]);
}

#[test]
fn search_rule_4_18_specials_and_contradictions_find_nothing() {
    for query in [
        "Dark S00E04 720p",
        "Dark S02E00 720p",
        "Dark Temporada 1 Cap.204",
    ] {
        finds(&dark(), &format!("query={query}"), &[]);
    }
}

#[test]
fn search_rule_5_2_what_a_name_names_counts_beside_the_series_id() {
    let series = |record: Record| record.parent("tt12345");
    let catalog = [
        series(episode(1, "Pilot", 2, 4)),
        series(episode(2, "Other", 2, 5)),
        series(pack(3, "All", 2)),
    ];
    ranks(
        &catalog,
        "catalog_id=tt12345&query=x Temporada 2 Capítulo 4",
        &[(1, 1, 0), (3, 1, 1), (2, 9, 1)],
    );
    ranks(
        &catalog,
        "catalog_id=tt12345&title=x Temporada 2",
        &[(3, 1, 0), (1, 1, 1), (2, 1, 1)],
    );
}

#[test]
fn search_rule_5_5_the_tail_of_a_name_orders() {
    let catalog = [
        episode(1, "Dark", 2, 4).described("1080p LOL").later(9),
        episode(2, "Dark", 2, 4).described("720p GRP"),
    ];
    finds(
        &catalog,
        "query=Dark Temporada 2 Capítulo 4 720p-GRP.mkv",
        &[2, 1],
    );
}
