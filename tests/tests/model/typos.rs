//! Titles that are written in another way, and typos, on hand-written catalogs (SEARCH.md 4.6 and
//! 4.10): oracle and engine find what a reader of the page expects.

use subcat_tests::rules::{With, episode, film, ranks};

#[test]
fn search_rule_4_10_titles_that_are_written_in_another_way() {
    let catalog = [
        film(1, "Spider-Man").year(2002),
        episode(2, "S.W.A.T.", 1, 16),
        episode(3, "SWAT", 1, 17),
        film(4, "L'auberge espagnole"),
        film(5, "Lauberge espagnole"),
        film(6, "Spider Man Returns"),
    ];
    ranks(&catalog, "query=spiderman", &[(1, 8, 0)]);
    ranks(&catalog, "query=spiderman 2002", &[(1, 8, 0)]);
    ranks(&catalog, "query=spiderman 2004", &[]);
    ranks(&catalog, "query=swat s01e16", &[(2, 8, 0)]);
    ranks(&catalog, "query=auberge espagnole", &[(4, 8, 0)]);
    ranks(&catalog, "query=the auberge espagnole", &[(4, 8, 0)]);
    ranks(&catalog, "title=spiderman", &[(1, 8, 4)]);
    // Before typos: "spiderman" is not "spidermen".
    let catalog = [film(1, "Spider-Man"), film(2, "Spidermen")];
    ranks(&catalog, "query=spiderman", &[(1, 8, 0)]);
}

#[test]
fn search_rule_4_6_typos_when_nothing_else_is_found() {
    let catalog = [
        film(1, "Sherlock"),
        film(2, "Interstellar"),
        film(3, "Lots").described("sherlokc"),
        film(4, "Breaking"),
    ];
    for typo in ["sherlok", "sherlocks", "shrelock", "sherlocj"] {
        ranks(&catalog, &format!("query={typo}"), &[(1, 8, 0)]);
    }
    for no_typo in ["sharlok", "cherlock", "herlock", "sharlek"] {
        ranks(&catalog, &format!("query={no_typo}"), &[]);
    }
    for typo in [
        "intersteller",
        "intrestelar",
        "interstellarxy",
        "nterstellar",
        "intertselalr",
    ] {
        let expected: &[(u8, u8, u8)] = if typo.starts_with('i') {
            &[(2, 8, 0)]
        } else {
            &[]
        };
        ranks(&catalog, &format!("query={typo}"), expected);
    }
    ranks(&catalog, "query=sherlokc", &[(3, 6, 0)]);
    ranks(&catalog, "query=lost", &[]);
    ranks(&catalog, "query=breakin9", &[]);
    ranks(&catalog, "title=sherlok", &[]);
}

#[test]
fn search_rule_4_6_the_first_try_counts_records_that_pass_the_filters() {
    let catalog = [
        film(1, "Sherlok").year(2000),
        film(2, "Sherlock").year(2010),
        film(3, "Sherlok").inactive(),
    ];
    ranks(&catalog, "query=sherlok", &[(1, 2, 0)]);
    ranks(&catalog, "query=sherlok&year=2010", &[(2, 8, 0)]);
    ranks(
        &catalog,
        "query=sherlok&title=sherlock&year=2010",
        &[(2, 2, 0)],
    );
}

#[test]
fn search_rule_4_6_another_branch_does_not_stop_the_second_try() {
    let catalog = [film(1, "Sherlock"), film(2, "Heat")];
    ranks(
        &catalog,
        "query=sherlok&title=heat",
        &[(2, 2, 0), (1, 8, 0)],
    );
}

#[test]
fn search_rule_4_6_equal_words_prefixes_and_markers_stay() {
    let catalog = [
        episode(1, "Sherlock Holmes Forever", 1, 2).described("webrip"),
        episode(2, "Sherlock Holmes Forever", 2, 2),
    ];
    ranks(&catalog, "query=sherlok webrip s01e02 fore", &[(1, 8, 0)]);
    ranks(&catalog, "query=sherlok holme", &[(1, 8, 0), (2, 8, 0)]);
    ranks(&catalog, "query=sherlok s01e03", &[]);
    ranks(&catalog, "query=webrib sherlock", &[]);
}

#[test]
fn search_rule_4_6_at_most_8_words_may_have_typos() {
    let words = "alpha bravo charlie delta echos foxtrot golfs hotel";
    let catalog = [film(1, words), film(2, &format!("{words} india"))];
    ranks(
        &catalog,
        "query=alphi bravo charlie delta echos foxtrot golfs hotel",
        &[(1, 8, 0), (2, 8, 0)],
    );
    ranks(
        &catalog,
        "query=alphi bravo charlie delta echos foxtrot golfs hotel india",
        &[],
    );
    ranks(
        &catalog,
        "query=alphi alphi alphi alphi alphi alphi alphi alphi alphi",
        &[],
    );
    ranks(
        &catalog,
        "query=alphi alphi alphi alphi alphi alphi alphi alphi",
        &[(1, 8, 0), (2, 8, 0)],
    );
}
