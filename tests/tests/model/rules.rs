//! Every rule of SEARCH.md on hand-written catalogs: the oracle finds what a reader of the page
//! expects, and the engine finds the same.

use subcat_engine::{Flag, Record, RecordId};
use subcat_tests::rules::{With, answer, episode, film, finds, pack, ranks};

// ---- 1. Text

#[test]
fn search_rule_1_both_sides_are_folded() {
    let catalog = [
        film(1, "Schindler\u{2019}s List"),
        film(2, "El Niño 2"),
        film(3, "Straße ﬁlm"),
        film(4, "9½ Weeks"),
        film(5, "İstanbul"),
        film(6, "Ocean\u{2032}s ① 1"),
        film(7, "千と千尋"),
    ];
    ranks(&catalog, "query=schindlers list", &[(1, 2, 0)]);
    ranks(&catalog, "query=SCHINDLER`S LIST", &[(1, 2, 0)]);
    ranks(&catalog, "query=schindler s list", &[(1, 8, 0)]);
    ranks(&catalog, "title=nin\u{303}o", &[(2, 4, 0)]);
    ranks(&catalog, "title=STRASSE", &[(3, 3, 0)]);
    ranks(&catalog, "title=film", &[(3, 4, 0)]);
    ranks(&catalog, "title=91 2 weeks", &[(4, 2, 0)]);
    ranks(&catalog, "query=ISTANBUL", &[(5, 2, 0)]);
    ranks(&catalog, "query=ıstanbul", &[]);
    ranks(&catalog, "query=oceans １ 1", &[(6, 2, 0)]);
    ranks(&catalog, "title=と千", &[]);
    ranks(&catalog, "title=と千尋", &[(7, 5, 0)]);
}

#[test]
fn search_rule_1_5_episodes_meet_however_they_are_written() {
    let catalog = [
        film(1, "Lost 1x02"),
        film(2, "Lost").described("Lost.S01E02-E03.720p"),
    ];
    for query in [
        "lost s1e2",
        "Lost 01x02",
        "lost S01 E002",
        "lost s1.e2.e3",
        "LOST S01E02E03",
        "lost t01e02",
        "Lost S01.Ep02",
        "Lost 1×02x03",
        "lost s1 ep 2",
    ] {
        ranks(&catalog, &format!("query={query}"), &[(1, 2, 0), (2, 2, 2)]);
        ranks(&catalog, &format!("title={query}"), &[(1, 2, 0)]);
    }
    ranks(&catalog, "query=lost s1 e3", &[]);
    ranks(&catalog, "query=lost e03", &[]);
}

// ---- 2. Markers

#[test]
fn search_rule_2_markers_never_hide_a_title_that_contains_them() {
    let catalog = [
        film(1, "Blade Runner 2049").year(2017),
        film(2, "Blade Runner").year(1982),
        film(3, "1917").year(2019),
        pack(4, "24", 1),
        pack(5, "24 S01", 3),
    ];
    ranks(&catalog, "query=blade runner 2049", &[(1, 2, 0)]);
    ranks(&catalog, "query=blade runner 2049 2017", &[(1, 2, 0)]);
    ranks(&catalog, "query=1917", &[(3, 2, 0)]);
    ranks(&catalog, "query=1917 2019", &[(3, 2, 0)]);
    ranks(&catalog, "query=24 S01", &[(4, 2, 0), (5, 2, 0)]);
    ranks(&catalog, "title=24 S01", &[(4, 2, 0), (5, 2, 0)]);
    ranks(&catalog, "title=Blade Runner 2049", &[(1, 2, 0)]);
}

#[test]
fn search_rule_2_4_season_packs_fit_every_episode() {
    let catalog = [
        episode(1, "Lost", 1, 2),
        pack(2, "Lost", 1),
        episode(3, "Lost", 1, 3),
        episode(4, "Lost", 2, 2),
        film(5, "Lost"),
    ];
    ranks(&catalog, "query=lost s01e02", &[(1, 2, 0), (2, 2, 2)]);
    ranks(&catalog, "title=lost s01e02", &[(1, 2, 0), (2, 2, 2)]);
    ranks(
        &catalog,
        "query=lost s01",
        &[(2, 2, 0), (1, 2, 2), (3, 2, 2)],
    );
    ranks(
        &catalog,
        "title=lost s01",
        &[(2, 2, 0), (1, 2, 2), (3, 2, 2)],
    );
    ranks(&catalog, "query=lost s03", &[]);
    ranks(
        &catalog,
        "query=s01 lost",
        &[(2, 2, 0), (1, 2, 2), (3, 2, 2)],
    );
}

// ---- 3. Filters

#[test]
fn search_rule_3_1_inactive_records_are_never_found() {
    let catalog = [
        film(1, "Lost").inactive().catalog_id("tt12345"),
        film(2, "Lost"),
    ];
    finds(&catalog, "query=lost", &[2]);
    finds(&catalog, "title=lost", &[2]);
    finds(&catalog, "public_id=1", &[]);
    finds(&catalog, "catalog_id=tt12345", &[]);
}

#[test]
fn search_rule_3_2_a_year_keeps_equal_and_unknown_years() {
    let catalog = [
        film(1, "Lost"),
        film(2, "Lost").year(2004),
        film(3, "Lost").year(2005),
    ];
    ranks(&catalog, "title=lost&year=2004", &[(2, 2, 0), (1, 2, 1)]);
    ranks(&catalog, "public_id=1&year=2004", &[(1, 0, 1)]);
    ranks(&catalog, "public_id=3&year=2004", &[]);
    ranks(&catalog, "title=lost", &[(1, 2, 0), (2, 2, 0), (3, 2, 0)]);
}

#[test]
fn search_rule_3_3_type_season_and_episode_are_equal() {
    let catalog = [
        film(1, "Lost"),
        episode(2, "Lost", 1, 2),
        pack(3, "Lost", 1),
        episode(4, "Lost", 2, 2),
    ];
    finds(&catalog, "title=lost&video_type=movie", &[1]);
    finds(&catalog, "title=lost&video_type=episode", &[2, 3, 4]);
    finds(&catalog, "title=lost&video_type=episode&season=1", &[2, 3]);
    finds(
        &catalog,
        "title=lost&video_type=episode&season=1&episode=2",
        &[2],
    );
    finds(&catalog, "title=lost&video_type=episode&episode=2", &[2, 4]);
    finds(&catalog, "title=lost&video_type=episode&episode=9", &[]);
}

#[test]
fn search_rule_3_4_codes_of_other_services() {
    let catalog = [
        film(1, "Heat").language("ea"),
        film(2, "Heat").language("spn"),
        film(3, "Heat").language("pob"),
        film(4, "Heat").language("es-LA"),
        film(5, "Heat").language("esp"),
    ];
    finds(&catalog, "title=heat&language=es-MX", &[1, 4, 5]);
    finds(&catalog, "title=heat&language=sp", &[2, 5]);
    finds(&catalog, "title=heat&language=pt-BR", &[3]);
}

#[test]
fn search_rule_3_4_languages_and_regions() {
    let catalog = [
        film(1, "Lost").language("es"),
        film(2, "Lost").language("es-ES"),
        film(3, "Lost").language("es-MX"),
        film(4, "Lost").language("es-419"),
        film(5, "Lost").language("en-US"),
        film(6, "Lost").language("spa_ar"),
    ];
    finds(&catalog, "title=lost&language=es", &[1, 2, 3, 4, 6]);
    finds(&catalog, "title=lost&language=SPA", &[1, 2, 3, 4, 6]);
    finds(&catalog, "title=lost&language=es-es", &[1, 2]);
    finds(&catalog, "title=lost&language=es_419", &[1, 3, 4, 6]);
    finds(&catalog, "title=lost&language=es-MX", &[1, 3, 4]);
    finds(&catalog, "title=lost&language=en-GB", &[]);
    finds(&catalog, "title=lost&language=en", &[5]);
    finds(&catalog, "title=lost&language=fr", &[]);
}

// ---- 4. Branches

#[test]
fn search_rule_4_1_a_record_matches_by_any_branch() {
    let catalog = [
        film(1, "Lost").catalog_id("tt12345"),
        film(2, "Heat"),
        film(3, "Alien"),
        film(4, "Other"),
    ];
    ranks(
        &catalog,
        "query=alien&title=heat&catalog_id=tt12345&public_id=4",
        &[(4, 0, 0), (1, 1, 0), (2, 2, 0), (3, 2, 0)],
    );
    ranks(
        &catalog,
        "query=alien&title=alien&public_id=3",
        &[(3, 0, 0)],
    );
    finds(&catalog, "query=!!!&title=heat", &[2]);
}

#[test]
fn search_rule_4_2_catalog_ids_of_record_or_series() {
    let catalog = [
        episode(1, "Lost", 1, 1).parent("tt0012345"),
        film(2, "Heat").catalog_id("tt12345"),
        film(3, "Alien").catalog_id("tt123456"),
        episode(4, "Both", 1, 1)
            .catalog_id("tt12345")
            .parent("tt12345"),
    ];
    let expected = &[(2, 1, 0), (4, 1, 0), (1, 1, 1)];
    ranks(&catalog, "catalog_id=tt12345", expected);
    ranks(&catalog, "catalog_id=TT00012345", expected);
    ranks(&catalog, "catalog_id=12345", expected);
    ranks(&catalog, "catalog_id=tt1234", &[]);
    ranks(&catalog, "catalog_id=lost", &[]);
    ranks(&catalog, "catalog_id=nm12345&title=heat", &[(2, 2, 0)]);
}

#[test]
fn search_rule_4_3_a_title_is_contained_anywhere_from_3_characters_on() {
    let catalog = [
        film(1, "The Lost Boys"),
        film(2, "Lost"),
        film(3, "Ballost"),
        film(4, "Lost Boys"),
        film(5, "Los Tigres"),
    ];
    let expected = &[(2, 2, 0), (4, 3, 0), (1, 4, 0), (3, 5, 0)];
    ranks(&catalog, "title=lost", expected);
    ranks(&catalog, "title=LOST!", expected);
    ranks(
        &catalog,
        "title=ost",
        &[(1, 5, 0), (2, 5, 0), (3, 5, 0), (4, 5, 0)],
    );
    ranks(&catalog, "title=st b", &[(1, 5, 0), (4, 5, 0)]);
    ranks(&catalog, "title=boys lost", &[]);
}

#[test]
fn search_rule_4_3_shorter_strings_begin_a_word() {
    let catalog = [
        film(1, "Up"),
        film(2, "Group"),
        film(3, "Cheer Up Now"),
        film(4, "Upside"),
        film(5, "Up and down"),
        film(6, "Up映"),
        film(7, "映画"),
        film(8, "動映画"),
    ];
    ranks(
        &catalog,
        "title=up",
        &[(1, 2, 0), (5, 3, 0), (3, 4, 0), (4, 5, 0), (6, 5, 0)],
    );
    ranks(
        &catalog,
        "title=u",
        &[(1, 5, 0), (3, 5, 0), (4, 5, 0), (5, 5, 0), (6, 5, 0)],
    );
    ranks(&catalog, "title=映画", &[(7, 2, 0)]);
    ranks(&catalog, "title=動映画", &[(8, 2, 0)]);
}

#[test]
fn search_rule_4_3_the_episode_marker_may_be_a_filter_or_a_word() {
    let catalog = [
        episode(1, "Lost S01E02", 5, 5),
        episode(2, "Lost", 1, 2),
        pack(3, "Lost Forever", 1),
        episode(4, "Lost", 1, 3),
        episode(5, "Ballost", 1, 2),
    ];
    ranks(
        &catalog,
        "title=lost 1x02",
        &[(1, 2, 0), (2, 2, 0), (3, 3, 2), (5, 5, 0)],
    );
    ranks(
        &catalog,
        "title=1x02 lost",
        &[(2, 2, 0), (3, 3, 2), (5, 5, 0)],
    );
    ranks(&catalog, "title=s01e02", &[(1, 4, 0)]);
}

#[test]
fn search_rule_4_4_a_query_of_one_catalog_id() {
    let catalog = [
        film(1, "tt12345"),
        film(2, "Heat").catalog_id("tt12345"),
        film(3, "tt1234"),
        film(4, "tt12345 the film"),
    ];
    ranks(&catalog, "query=tt12345", &[(2, 1, 0)]);
    ranks(&catalog, "query=TT0012345", &[(2, 1, 0)]);
    ranks(&catalog, "query=tt1234", &[(3, 2, 0), (1, 7, 0), (4, 7, 0)]);
    ranks(&catalog, "query=tt12345 film", &[(4, 4, 0)]);
    ranks(&catalog, "title=tt12345", &[(1, 2, 0), (4, 3, 0)]);
}

#[test]
fn search_rule_4_5_every_word_is_satisfied() {
    let catalog = [
        film(1, "The Lost Boys").described("WEBRip by someone"),
        film(2, "Lost").described("boys"),
        film(3, "Boys, Lost"),
        film(4, "Lost Boyscouts"),
        film(5, "Lost").described("boyscouts"),
    ];
    ranks(
        &catalog,
        "query=lost boys",
        &[(1, 4, 0), (3, 4, 0), (2, 6, 0), (4, 7, 0)],
    );
    ranks(
        &catalog,
        "query=boys lost",
        &[(3, 2, 0), (1, 4, 0), (2, 6, 0)],
    );
    ranks(&catalog, "query=webrip lost", &[(1, 6, 0)]);
    ranks(
        &catalog,
        "query=lost lost",
        &[(1, 4, 0), (2, 4, 0), (3, 4, 0), (4, 4, 0), (5, 4, 0)],
    );
}

#[test]
fn search_rule_4_5_only_the_last_plain_word_of_3_characters_is_a_prefix() {
    let catalog = [
        episode(1, "Runner Blades", 1, 2),
        film(2, "Runners").described("bladesmith"),
        film(3, "Ru Bl"),
    ];
    ranks(&catalog, "query=runner blad", &[(1, 7, 0)]);
    ranks(&catalog, "query=runner blad s01e02", &[(1, 7, 0)]);
    ranks(&catalog, "query=s01e02 runner blad", &[(1, 7, 0)]);
    ranks(&catalog, "query=runner bl", &[]);
    ranks(&catalog, "query=run", &[(1, 7, 0), (2, 7, 0)]);
    ranks(&catalog, "query=ru", &[(3, 3, 0)]);
    ranks(&catalog, "query=blade", &[(1, 7, 0)]);
}

#[test]
fn search_rule_4_5_a_prefix_counts_characters() {
    let catalog = [film(1, "映画館の"), film(2, "ñandúes")];
    ranks(&catalog, "query=映画館", &[(1, 7, 0)]);
    ranks(&catalog, "query=映画", &[]);
    ranks(&catalog, "query=ñan", &[(2, 7, 0)]);
    ranks(&catalog, "query=ñá", &[]);
}

#[test]
fn search_rule_4_5_markers_are_satisfied_by_fit_or_by_word() {
    let catalog = [
        episode(1, "Lost", 1, 2),
        pack(2, "Lost", 1),
        film(3, "Lost S01E02"),
        film(4, "Lost").described("s01e02 webrip"),
        film(5, "Lost").described("S01 E03"),
    ];
    ranks(
        &catalog,
        "query=lost s01e02",
        &[(1, 2, 0), (3, 2, 0), (2, 2, 2), (4, 2, 2)],
    );
}

#[test]
fn search_rule_4_5_a_year_in_words_keeps_unknown_years() {
    let catalog = [
        film(1, "Heat"),
        film(2, "Heat").year(1995),
        film(3, "Heat").year(1986),
        film(4, "Heat 1995").year(1986),
        film(5, "Heat").year(1986).described("1995"),
    ];
    ranks(
        &catalog,
        "query=heat 1995",
        &[(2, 2, 0), (4, 2, 0), (1, 2, 1)],
    );
    ranks(
        &catalog,
        "query=heat 1995&year=1986",
        &[(4, 2, 0), (5, 6, 0)],
    );
    ranks(&catalog, "title=heat 1995", &[(4, 2, 0)]);
}

#[test]
fn search_rule_4_5_a_year_in_words_is_for_its_own_branch() {
    let catalog = [film(1, "Heat").year(1995), film(2, "Heat").year(1986)];
    ranks(
        &catalog,
        "query=heat 1995&title=heat",
        &[(1, 2, 0), (2, 2, 0)],
    );
    ranks(&catalog, "query=heat 1995", &[(1, 2, 0)]);
}

// ---- 5. Order

#[test]
fn search_rule_5_2_the_series_id_and_an_episode_in_words() {
    let series = |record: Record| record.parent("tt12345");
    let catalog = [
        series(episode(1, "Pilot", 1, 1)),
        series(episode(2, "Second", 1, 2)),
        series(pack(3, "All", 1)),
        series(pack(4, "All", 2)),
        film(5, "The series").catalog_id("tt12345"),
        film(6, "Lost"),
    ];
    let expected = &[(2, 1, 0), (5, 1, 0), (3, 1, 1), (1, 9, 1), (4, 9, 1)];
    ranks(
        &catalog,
        "catalog_id=tt12345&query=nothing s01e02",
        expected,
    );
    ranks(
        &catalog,
        "catalog_id=tt12345&title=nothing s01e02",
        expected,
    );
    ranks(
        &catalog,
        "catalog_id=tt12345&title=zz s01e02&query=qq s02",
        &[(4, 1, 0), (5, 1, 0), (1, 9, 1), (2, 9, 1), (3, 9, 1)],
    );
    ranks(&catalog, "query=tt12345&title=zz s01e02", expected);
    ranks(
        &catalog,
        "catalog_id=tt12345&title=zz s01e02&query=qq",
        expected,
    );
    ranks(
        &catalog,
        "catalog_id=tt12345&query=nothing",
        &[(5, 1, 0), (1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1)],
    );
    ranks(&catalog, "catalog_id=tt12345&query=pilot s01e02", expected);
    ranks(
        &catalog,
        "catalog_id=tt12345&query=pilot s01&title=second",
        &[(3, 1, 0), (5, 1, 0), (1, 1, 1), (2, 1, 1), (4, 9, 1)],
    );
}

#[test]
fn search_rule_5_3_an_unknown_year_is_a_worse_fit() {
    let catalog = [
        film(1, "Heat").catalog_id("tt12345"),
        film(2, "Heat").year(1995).catalog_id("tt12345"),
        episode(3, "Heat", 1, 2).parent("tt12345"),
    ];
    ranks(
        &catalog,
        "catalog_id=tt12345&year=1995",
        &[(2, 1, 0), (1, 1, 1), (3, 1, 1)],
    );
    ranks(
        &catalog,
        "catalog_id=tt12345&year=1995&query=x s01e02",
        &[(2, 1, 0), (1, 1, 1), (3, 1, 1)],
    );
    ranks(
        &catalog,
        "query=heat&year=1995",
        &[(2, 2, 0), (1, 2, 1), (3, 2, 1)],
    );
}

#[test]
fn search_rule_5_3_markers_that_do_not_fit_exactly() {
    let catalog = [
        film(1, "Heat").described("s01e02"),
        episode(2, "Heat", 1, 2),
        pack(3, "Heat", 1),
        film(4, "Heat 1x02"),
    ];
    ranks(
        &catalog,
        "query=heat s01e02",
        &[(2, 2, 0), (4, 2, 0), (1, 2, 2), (3, 2, 2)],
    );
    ranks(
        &catalog,
        "title=heat s01e02",
        &[(2, 2, 0), (4, 2, 0), (3, 2, 2)],
    );
}

#[test]
fn search_rule_5_3_the_episode_counts_more_than_the_year() {
    let catalog = [
        episode(1, "Dark", 2, 4).year(2017),
        pack(2, "Dark", 2).year(2019),
        pack(3, "Dark", 2),
    ];
    ranks(&catalog, "query=dark s02e04 2019", &[(2, 2, 2), (3, 2, 3)]);
    let catalog = [episode(1, "Dark", 2, 4), pack(2, "Dark", 2).year(2019)];
    ranks(&catalog, "query=dark s02e04 2019", &[(1, 2, 1), (2, 2, 2)]);
}

#[test]
fn search_rule_5_3_a_year_that_is_in_the_value_twice() {
    let catalog = [
        film(1, "1984").year(1956).later(9),
        film(2, "1984").year(1984),
        film(3, "1984"),
    ];
    ranks(
        &catalog,
        "query=1984 1984",
        &[(2, 2, 0), (1, 2, 1), (3, 2, 1)],
    );
}

#[test]
fn search_rule_5_3_a_marker_inside_a_word_is_not_a_title_word() {
    let catalog = [film(1, "Lost S010"), film(2, "Heat 20045")];
    ranks(&catalog, "title=lost s01", &[(1, 5, 2)]);
    ranks(&catalog, "title=lost s010", &[(1, 2, 0)]);
    ranks(&catalog, "title=heat 2004", &[(2, 5, 0)]);
    ranks(&catalog, "query=heat 2004", &[(2, 3, 1)]);
}

#[test]
fn search_rule_5_4_newest_first_then_id() {
    let catalog = [
        film(1, "Heat").later(5),
        film(2, "Heat").later(9),
        film(3, "Heat Wave").later(99),
        film(4, "Heat").later(9),
        film(5, "Heat").year(1995),
    ];
    finds(&catalog, "title=heat", &[2, 4, 1, 5, 3]);
    finds(&catalog, "title=heat&year=1995", &[5, 2, 4, 1, 3]);
}

#[test]
fn search_rule_5_4_the_page_size_cuts_and_total_does_not() {
    let catalog = [film(1, "Heat"), film(2, "Heat"), film(3, "Heat")];
    finds(&catalog, "title=heat&limit=2", &[1, 2]);
    let answer = answer(&catalog, "title=heat&limit=2");
    assert_eq!(answer.total, 3);
}

/// The page has room for fewer records than there are newer ones that fit worse.
#[test]
fn search_rule_5_3_older_records_that_fit_precede_newer_ones_that_do_not() {
    const WORSE_COUNT: u16 = 700;
    let wide_id = |number: u16| {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        RecordId::from_bytes(bytes)
    };
    let record = |number: u16, title: &str| Record {
        id: wide_id(number),
        ..film(0, title).later(i64::from(number))
    };
    let mut catalog: Vec<Record> = (0..20)
        .map(|number| record(number, "Lost").year(2004))
        .collect();
    let newer = 1000..1000 + WORSE_COUNT;
    catalog.extend(newer.map(|number| record(number, "Lost")));
    for (parameters, fits_count) in [
        ("title=lost&year=2004&limit=10", 10),
        ("title=lost&year=2004&limit=30", 20),
        ("query=lost&year=2004&limit=30", 20),
    ] {
        let found = answer(&catalog, parameters);
        let first = &found.hits[..fits_count];
        assert!(first.iter().all(|hit| hit.fit == 0), "{parameters}");
        let rest = &found.hits[fits_count..];
        assert!(rest.iter().all(|hit| hit.fit == 1), "{parameters}");
        assert_eq!(found.total, u64::from(WORSE_COUNT) + 20);
    }
}

// ---- 3.5 and 3.6, flags and times; 8, addresses

#[test]
fn search_rule_3_5_unknown_flags_are_not_true() {
    let catalog = [
        film(1, "Heat").flag(Flag::Forced, true),
        film(2, "Heat").flag(Flag::Forced, false),
        film(3, "Heat").flag(Flag::HearingImpaired, true),
    ];
    finds(&catalog, "title=heat&forced=only", &[1]);
    finds(&catalog, "title=heat&forced=exclude", &[2, 3]);
    finds(&catalog, "title=heat&forced=include", &[1, 2, 3]);
    finds(
        &catalog,
        "query=heat&hearing_impaired=only&forced=exclude",
        &[3],
    );
}

#[test]
fn search_rule_3_6_since_is_a_time_that_still_passes() {
    let catalog = [film(1, "Heat"), film(2, "Heat").later(10)];
    let at = |seconds: i64| format!("title=heat&since=2023-11-14T22:13:{:02}Z", 20 + seconds);
    finds(&catalog, &at(0), &[2, 1]);
    finds(&catalog, &at(1), &[2]);
    finds(&catalog, &at(10), &[2]);
    finds(&catalog, &at(11), &[]);
}

#[test]
fn search_rule_8_1_packs_pass_with_the_episode() {
    let catalog = [
        episode(1, "Dark", 1, 2),
        pack(2, "Dark", 1),
        episode(3, "Dark", 1, 3),
        pack(4, "Dark", 2),
    ];
    finds(
        &catalog,
        "title=dark&season=1&episode=2&packs=include",
        &[1, 2],
    );
    finds(
        &catalog,
        "title=dark&season=1&episode=9&packs=include",
        &[2],
    );
    finds(&catalog, "title=dark&season=1&episode=2&packs=only", &[2]);
    finds(&catalog, "title=dark&season=2&packs=include", &[4]);
}

#[test]
fn search_rule_8_2_records_without_a_release_are_left_out() {
    let catalog = [film(1, "Heat"), film(2, "Heat").source()];
    finds(&catalog, "title=heat&source=yes", &[2]);
}

#[test]
fn search_rule_8_3_a_variety_is_about_its_language_only() {
    let catalog = [
        film(1, "Heat").language("es-ES"),
        film(2, "Heat").language("es-MX"),
        film(3, "Heat").language("es"),
        film(4, "Heat").language("en-GB"),
    ];
    finds(&catalog, "title=heat&variety=es-419", &[2, 3, 4]);
    finds(&catalog, "title=heat&variety=es-ES", &[1, 3, 4]);
    finds(&catalog, "title=heat&variety=es-ES&language=es", &[1, 3]);
}

#[test]
fn search_rule_8_4_packs_and_machine_translations_come_last() {
    let machine = Flag::MachineTranslated;
    let catalog = [
        pack(1, "Dark", 1).parent("tt7").later(9),
        episode(2, "Dark", 1, 2)
            .parent("tt7")
            .flag(machine, true)
            .later(8),
        episode(3, "Dark", 1, 2).parent("tt7").flag(machine, false),
        pack(4, "Dark", 1)
            .parent("tt7")
            .flag(machine, true)
            .later(7),
        episode(5, "Dark", 1, 2).catalog_id("tt7"),
        episode(6, "Dark", 1, 2).parent("tt7").later(1),
    ];
    let wanted = "season=1&episode=2&packs=include&order=player";
    let by_id = format!("catalog_id=tt7&{wanted}");
    finds(&catalog, &by_id, &[6, 3, 5, 1, 2, 4]);
    finds(
        &catalog,
        &format!("title=dark&{wanted}"),
        &[6, 3, 5, 1, 2, 4],
    );
    // More hits than a page: each group is searched alone.
    for (limit, expected) in [
        (1, &[6][..]),
        (2, &[6, 3]),
        (4, &[6, 3, 5, 1]),
        (5, &[6, 3, 5, 1, 2]),
    ] {
        finds(&catalog, &format!("{by_id}&limit={limit}"), expected);
        assert_eq!(answer(&catalog, &format!("{by_id}&limit={limit}")).total, 6);
    }
    ranks(
        &catalog[4..],
        "catalog_id=tt7&order=player",
        &[(6, 1, 0), (5, 1, 0)],
    );
}

/// Of a group that has no match as read, other readings find nothing that counts.
#[test]
fn search_rule_8_4_each_group_is_read_as_the_whole() {
    let machine = Flag::MachineTranslated;
    let catalog = [
        film(1, "Heathers").flag(machine, true),
        film(2, "Heather").flag(machine, true).later(1),
        film(3, "Heathen"),
    ];
    finds(&catalog, "query=heather&order=player&limit=1", &[2]);
    finds(&catalog[1..], "query=heather&order=player&limit=1", &[2]);
}
