//! Names of releases on hand-written catalogs (SEARCH.md 4.8, 4.9 and 5.5 to 5.7): oracle and
//! engine find what a reader of the page expects.

use subcat_engine::Record;
use subcat_tests::rules::{With, episode, film, finds, pack, ranks, weighs};

// ---- 4.8 Reading

#[test]
fn search_rule_4_8_a_file_name_finds_its_film() {
    let catalog = [
        film(1, "The Matrix").year(1999),
        film(2, "The Matrix Reloaded").year(2003),
        film(3, "The Matrix"),
        film(4, "The Matrix Reloaded").year(1999),
        film(5, "Matrix").year(1999),
    ];
    // 1 and 3 have the title; 3 has no year, which is not equal to the year marker.
    ranks(
        &catalog,
        "query=The.Matrix.1999.1080p.BluRay.x264-GRP.srt",
        &[(1, 8, 0), (3, 8, 1), (4, 8, 4)],
    );
}

#[test]
fn search_rule_4_8_a_file_name_finds_its_episode() {
    let catalog = [
        episode(1, "1923", 1, 2).year(2022),
        episode(2, "1923", 1, 3).year(2022),
        pack(3, "1923", 1).year(2022),
        film(4, "1923"),
        film(5, "1923").described("S01E02"),
    ];
    // The year after the episode is not a mark, but it is the year marker of the fit.
    ranks(
        &catalog,
        "query=1923.S01E02.2022.720p",
        &[(1, 8, 0), (3, 8, 2), (5, 8, 3)],
    );
}

#[test]
fn search_rule_4_8_the_first_word_is_never_a_mark() {
    let catalog = [
        film(1, "1917").year(2019),
        film(2, "1917").year(1917),
        film(3, "2012").year(2009),
        film(4, "2012").year(2012),
    ];
    ranks(&catalog, "query=1917.1080p.x264", &[(1, 8, 0), (2, 8, 0)]);
    ranks(&catalog, "query=2012.2009.1080p", &[(3, 8, 0)]);
}

#[test]
fn search_rule_4_8_what_is_not_read_as_a_release() {
    let catalog = [
        episode(1, "Lost", 1, 2),
        film(2, "The Matrix").year(1999),
        film(3, "1080p"),
    ];
    finds(&catalog, "query=S01E02.Lost.720p", &[]);
    finds(&catalog, "query=Lost.S01E02.720p", &[1]);
    finds(&catalog, "query=The.Matrix.1999.720p", &[2]);
}

#[test]
fn search_rule_4_8_only_when_words_and_typos_find_nothing_that_passes() {
    let catalog = [
        film(1, "Sherlock").year(2010),
        film(2, "Sherlock").year(2010).described("sherlok 720p"),
        film(3, "Sherlok").year(2010),
    ];
    // As words it finds 2; where the language excludes that, with typos nothing has 720p.
    ranks(&catalog, "query=sherlok 2010 720p", &[(2, 6, 0)]);
    ranks(&catalog, "query=sherlok 2010 1080p", &[(3, 8, 0)]);
    ranks(
        &catalog,
        "query=sherlock 2010 720q",
        &[(1, 8, 0), (2, 8, 0)],
    );
    ranks(&catalog, "query=sherlock 2010 72p&year=1999", &[]);
    // More than 8 words that may have typos: there is no second try, but a third.
    let long = "alpha bravo charlie delta echos foxtrot golfs hotel india";
    ranks(
        &catalog,
        &format!("query=sherlock 2010 {long}"),
        &[(1, 8, 0), (2, 8, 0)],
    );
}

#[test]
fn search_rule_4_8_another_branch_does_not_stop_it() {
    let catalog = [
        film(1, "Heat").year(1995),
        film(2, "Dark").catalog_id("tt12345"),
        film(3, "Heat").year(1995).catalog_id("tt12345"),
    ];
    ranks(
        &catalog,
        "query=heat 1995 720p&catalog_id=tt12345",
        &[(2, 1, 0), (3, 1, 0), (1, 8, 0)],
    );
}

// ---- 4.9 Matching

#[test]
fn search_rule_4_9_every_word_of_the_name_is_an_equal_title_word() {
    let catalog = [
        film(1, "Dark City").year(1998),
        film(2, "Darks City").year(1998),
        film(3, "Dark").year(1998).described("city"),
        film(4, "City of Dark Dreams").year(1998),
    ];
    ranks(
        &catalog,
        "query=Dark.City.1998.720p",
        &[(1, 8, 0), (4, 8, 4)],
    );
    // The film without the last word of the title is another rule (4.15).
    ranks(&catalog, "query=Dark.Cit.1998.720p", &[(3, 8, 0)]);
    ranks(&catalog, "query=Dark.Cita.1998.720p", &[(3, 8, 0)]);
    // Words of the name may repeat.
    ranks(
        &catalog,
        "query=City.City.Dark.1998.720p",
        &[(1, 8, 4), (4, 8, 4)],
    );
}

#[test]
fn search_rule_4_9_one_of_several_years_is_enough() {
    let catalog = [
        film(1, "Blade Runner 2049").year(2017),
        film(2, "Blade Runner").year(1982),
        film(3, "Blade Runner").year(2049),
        film(4, "Blade Runner"),
        film(5, "Blade Runner 2049").year(2000),
    ];
    // 5 has a word of the title that is one of the years; 2017 is the year marker.
    ranks(
        &catalog,
        "query=Blade.Runner.2049.2017.1080p",
        &[(1, 8, 0), (3, 8, 1), (4, 8, 1), (5, 8, 1)],
    );
    ranks(
        &catalog,
        "query=Blade.Runner.2049.1080p",
        &[(1, 8, 0), (3, 8, 0), (5, 8, 0), (4, 8, 1)],
    );
}

#[test]
fn search_rule_4_9_the_year_before_an_episode_counts() {
    let catalog = [
        episode(1, "Doctor Who", 1, 2).year(2005),
        episode(2, "Doctor Who", 1, 2).year(1963),
        episode(3, "Doctor Who", 1, 2),
        episode(4, "Doctor Who 2005", 1, 2).year(1963),
    ];
    finds(&catalog, "query=Doctor.Who.2005.S01E02.720p", &[1, 4, 3]);
    finds(&catalog, "query=Doctor.Who.S01E02.2005.720p", &[1, 2, 3, 4]);
}

// ---- 5.3 Fit

#[test]
fn search_rule_5_3_dark_precedes_his_dark_materials() {
    let catalog = [
        episode(1, "His Dark Materials", 1, 2).later(9),
        episode(2, "Dark", 1, 2),
        pack(3, "Dark", 1).later(9),
        pack(4, "His Dark Materials", 1).later(10),
    ];
    ranks(
        &catalog,
        "query=Dark.S01E02.720p",
        &[(2, 8, 0), (3, 8, 2), (1, 8, 4), (4, 8, 6)],
    );
}

#[test]
fn search_rule_5_3_a_title_with_a_marker_is_the_first_words_too() {
    let catalog = [
        episode(1, "Lost S01E02", 1, 2),
        film(2, "Lost 2004 Extras").year(2004),
        film(3, "Lost 2004").year(2004),
    ];
    ranks(&catalog, "query=Lost.S01E02.720p", &[(1, 8, 0)]);
    ranks(
        &catalog,
        "query=Lost.2004.720p",
        &[(3, 8, 0), (2, 8, 4), (1, 8, 5)],
    );
}

#[test]
fn search_rule_5_3_an_unknown_year_and_the_filter() {
    let catalog = [film(1, "Heat"), film(2, "Heat").year(1995)];
    ranks(
        &catalog,
        "query=Heat.1995.720p&year=1995",
        &[(2, 8, 0), (1, 8, 1)],
    );
}

// ---- 5.5 to 5.7 Weights

#[test]
fn search_rule_5_5_the_tail_orders_matches_by_name() {
    let catalog = [
        episode(1, "Lost", 1, 2).described("HDTV LOL").later(9),
        episode(2, "Lost", 1, 2).described("Lost.S01E02.720p.BluRay.x264-GRP"),
        episode(3, "Lost", 1, 2)
            .described("720p BluRay FGT")
            .later(5),
        episode(4, "Lost", 1, 2),
    ];
    // 720p 2, bluray 4, x264 2, grp 8, other 1.
    weighs(
        &catalog,
        "query=Lost.S01E02.720p.BluRay.Other.x264-GRP.mkv",
        &[(2, 8, 0, 1), (3, 8, 0, 11), (1, 8, 0, 17), (4, 8, 0, 17)],
    );
}

#[test]
fn search_rule_5_5_release_orders_every_branch() {
    let series = |record: Record| record.parent("tt12345");
    let catalog = [
        series(episode(1, "Lost", 1, 2)).described("720p HDTV LOL"),
        series(episode(2, "Lost", 1, 2))
            .described("1080p WEB FGT")
            .later(9),
        series(episode(3, "Lost", 1, 3))
            .described("720p HDTV LOL")
            .later(20),
        film(4, "Lost Girl").described("720p HDTV LOL"),
    ];
    let release = "release=Lost.S01E02.720p.HDTV-LOL.mkv";
    let filter = "video_type=episode&season=1&episode=2";
    weighs(
        &catalog,
        &format!("catalog_id=tt12345&{filter}&{release}"),
        &[(1, 1, 1, 1), (2, 1, 1, 15)],
    );
    weighs(
        &catalog,
        &format!("query=lost&{release}"),
        &[(3, 2, 0, 1), (1, 2, 0, 1), (2, 2, 0, 15), (4, 3, 0, 1)],
    );
    weighs(
        &catalog,
        &format!("title=lost&{release}"),
        &[(3, 2, 0, 1), (1, 2, 0, 1), (2, 2, 0, 15), (4, 3, 0, 1)],
    );
    weighs(
        &catalog,
        &format!("public_id=2&{release}"),
        &[(2, 0, 0, 15)],
    );
    weighs(&catalog, "public_id=2&release=!!!", &[(2, 0, 0, 0)]);
    // With `release` the tail of the name is not weighed.
    weighs(
        &catalog,
        "query=Lost.S01E02.1080p.Unknown&release=lol",
        &[(1, 8, 0, 0), (2, 8, 0, 8)],
    );
}

#[test]
fn search_rule_5_5_without_release_other_matches_have_no_weight() {
    let catalog = [
        episode(1, "Lost", 1, 2).catalog_id("tt12345"),
        episode(2, "Lost", 1, 2),
        episode(3, "Lost", 1, 2).parent("tt12345"),
        episode(4, "Pilot", 1, 3).parent("tt12345"),
    ];
    // By its series' id only, and another episode is named: relevance 9 is worse than the name.
    weighs(
        &catalog,
        "query=Lost.S01E02.720p&catalog_id=tt12345",
        &[(1, 1, 0, 0), (3, 1, 0, 0), (2, 8, 0, 8), (4, 9, 1, 0)],
    );
}

#[test]
fn search_rule_5_6_the_last_word_is_the_group_wherever_it_stands() {
    let catalog = [film(1, "Heat").described("lol"), film(2, "Heat")];
    weighs(
        &catalog,
        "title=heat&release=LOL.Heat.720p-LOL.srt",
        &[(1, 2, 0, 2), (2, 2, 0, 10)],
    );
    weighs(
        &catalog,
        "title=heat&release=srt",
        &[(1, 2, 0, 8), (2, 2, 0, 8)],
    );
    weighs(
        &catalog,
        "title=heat&release=heat.srt.lol.srt",
        &[(1, 2, 0, 1), (2, 2, 0, 9)],
    );
}

#[test]
fn search_rule_5_6_the_16_heaviest_words_count() {
    let catalog = [film(1, "Heat").described("a17 grp"), film(2, "Heat")];
    let words: Vec<String> = (1..=16).map(|number| format!("a{number}")).collect();
    let words = words.join(".");
    weighs(
        &catalog,
        &format!("title=heat&release={words}.a17-grp"),
        &[(1, 2, 0, 15), (2, 2, 0, 23)],
    );
    weighs(
        &catalog,
        &format!("title=heat&release=grp.{words}.a17-grp"),
        &[(1, 2, 0, 15), (2, 2, 0, 23)],
    );
}

#[test]
fn search_rule_5_6_tags_behind_the_group_are_no_group() {
    let catalog = [
        film(1, "Heat").described("tgx"),
        film(2, "Heat").described("LOL"),
    ];
    for release in [
        "Heat.720p-LOL[TGx].mkv",
        "Heat.720p-LOL-Obfuscated",
        "Heat.720p-LOL-RakuvUS",
    ] {
        finds(&catalog, &format!("query=heat&release={release}"), &[2, 1]);
    }
    finds(&catalog, "query=heat&release=Heat.720p.LOL [TGx]", &[1, 2]);
}

#[test]
fn search_rule_5_7_another_word_of_the_family_weighs_almost_as_much() {
    let catalog = [
        film(1, "Heat").described("BluRay GRP"),
        film(2, "Heat").described("BDRip BRRip GRP"),
        film(3, "Heat").described("WEB GRP"),
        film(4, "Heat").described("WEB-DL hevc GRP"),
    ];
    weighs(
        &catalog,
        "query=heat&release=Heat.BluRay-GRP",
        &[(1, 2, 0, 0), (2, 2, 0, 1), (3, 2, 0, 4), (4, 2, 0, 4)],
    );
    weighs(
        &catalog,
        "query=heat&release=Heat.WEBRip.x265-GRP",
        &[(4, 2, 0, 2), (3, 2, 0, 3), (1, 2, 0, 6), (2, 2, 0, 6)],
    );
}

#[test]
fn search_rule_5_7_words_are_those_of_title_and_description() {
    let catalog = [
        film(1, "Heat 720p"),
        film(2, "Heat").described("720p"),
        film(3, "Heat").described("720"),
        film(4, "Heat").described("Heat.S1E2.720p"),
    ];
    weighs(
        &catalog,
        "query=heat&release=heat.1x02.720p-x",
        &[(4, 2, 0, 8), (2, 2, 0, 9), (3, 2, 0, 11), (1, 3, 0, 9)],
    );
}

#[test]
fn search_rule_5_4_the_missing_weight_precedes_the_time() {
    let catalog = [
        film(1, "Heat").described("grp").later(1),
        film(2, "Heat").later(9),
        film(3, "Heat").described("grp").later(2),
        film(4, "Heat").year(1995),
    ];
    weighs(
        &catalog,
        "title=heat&year=1995&release=grp&limit=3",
        &[(4, 2, 0, 8), (3, 2, 1, 0), (1, 2, 1, 0)],
    );
}
