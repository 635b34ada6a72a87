//! Query strings and the parameters of a search.

use std::borrow::Cow;

use subcat_engine::{PAGE_SIZE_MAX, QUERY_WORDS_MAX, SEARCH_YEAR_MIN};
use subcat_server::request::{SearchRejection, parameters, search_request};

/// Query strings are decoded as forms are, but for what is not UTF-8: that is windows-1252, where
/// the reference has replacement characters.
pub fn query_string(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let ours: Vec<(Cow<'_, str>, Cow<'_, str>)> = parameters(&text).collect();
    let theirs: Vec<(Cow<'_, str>, Cow<'_, str>)> =
        form_urlencoded::parse(text.as_bytes()).collect();
    assert_eq!(ours.len(), theirs.len(), "{text:?}");
    for (own, reference) in ours.iter().zip(&theirs) {
        for (own, reference) in [(&own.0, &reference.0), (&own.1, &reference.1)] {
            if !reference.contains(char::REPLACEMENT_CHARACTER) {
                assert_eq!(own, reference, "{text:?}");
            }
        }
    }
    let mut written = form_urlencoded::Serializer::new(String::new());
    for (name, value) in &ours {
        written.append_pair(name, value);
    }
    let written = written.finish();
    assert_eq!(parameters(&written).collect::<Vec<_>>(), ours, "{text:?}");
}

/// A search is valid by its type or refused, and unknown parameters change nothing.
pub fn search_parameters(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for has_imdb_id in [true, false] {
        let outcome = search_request(&text, has_imdb_id);
        let padded = format!("unknown=1&{text}&tmdb_id=7");
        assert_eq!(search_request(&padded, has_imdb_id), outcome, "{text:?}");
        match outcome {
            Ok(request) => {
                let query = request.query;
                assert!(query.has_criterion(), "{text:?}");
                assert!((1..=PAGE_SIZE_MAX).contains(&query.page_size()), "{text:?}");
                assert!(has_imdb_id || !request.echoes_imdb_id, "{text:?}");
                let words_count = query.query().map_or(0, |text| text.words().count());
                assert!(words_count <= QUERY_WORDS_MAX, "{text:?}");
                let year = query.filters().year;
                assert!(
                    year.is_none_or(|year| SEARCH_YEAR_MIN <= year.get()),
                    "{text:?}"
                );
                let mut canonical = Vec::new();
                query.write_canonical(&mut canonical);
                assert!(!canonical.is_empty(), "{text:?}");
            }
            Err(SearchRejection::Parameters(faults)) => {
                assert!(!faults.is_empty(), "{text:?}");
                let mut names: Vec<&str> = faults.iter().map(|fault| fault.parameter).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), faults.len(), "one fault a parameter: {text:?}");
            }
            Err(SearchRejection::NoCriterion | SearchRejection::SeasonWithoutEpisodes) => {}
        }
    }
}
