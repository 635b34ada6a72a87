//! The parameters of a search and of a download below an address (API.md 20.8).

use std::borrow::Cow;

use super::query_string::parameters;
use crate::limits::{ADDRESS_ITEMS_MAX, ADDRESS_PAGE_MAX};

/// Parameters that a list begins with room for: all that a search has.
const PARAMETERS_USUAL: usize = 9;
/// Default number of items of a page.
const PER_PAGE_DEFAULT: u32 = 50;

/// Parameters of a search below an address. Whether they can find anything is decided later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressSearch {
    /// A title.
    pub query: Option<String>,
    /// An external id, before which `query` does not count.
    pub imdb_id: Option<String>,
    /// A name of a language, or a tag.
    pub language: Option<String>,
    /// Subtitles for the hearing impaired: only these, or none.
    pub hi: Option<bool>,
    /// A year, 0 for any; numbers beyond the type's range are its largest value.
    pub year: Option<u32>,
    /// The season of a series and its episode.
    pub numbers: AddressNumbers,
    /// Page number, from 1.
    pub page: u32,
    /// Items of a page, from 1.
    pub per_page: u32,
}

/// Season and episode; numbers beyond the type's range are its largest value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressNumbers {
    /// The season.
    pub season: Option<u32>,
    /// The episode.
    pub episode: Option<u32>,
}

/// The first parameter below an address that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRejection {
    /// Body of the answer.
    pub body: &'static str,
}

const fn rejection(body: &'static str) -> AddressRejection {
    AddressRejection { body }
}

/// An integer parameter: its smallest value, and the rejections of others.
struct AddressInteger {
    min: u32,
    malformed: AddressRejection,
    below: AddressRejection,
}

const HI: AddressRejection = rejection(r#"{"detail":"hi must be true or false"}"#);
const YEAR: AddressInteger = AddressInteger {
    min: 0,
    malformed: rejection(r#"{"detail":"year must be an integer"}"#),
    below: rejection(r#"{"detail":"year must be 0 or greater"}"#),
};
const SEASON: AddressInteger = AddressInteger {
    min: 0,
    malformed: rejection(r#"{"detail":"season must be an integer"}"#),
    below: rejection(r#"{"detail":"season must be 0 or greater"}"#),
};
const EPISODE: AddressInteger = AddressInteger {
    min: 0,
    malformed: rejection(r#"{"detail":"episode must be an integer"}"#),
    below: rejection(r#"{"detail":"episode must be 0 or greater"}"#),
};
const PAGE: AddressInteger = AddressInteger {
    min: 1,
    malformed: rejection(r#"{"detail":"page must be an integer"}"#),
    below: rejection(r#"{"detail":"page must be 1 or greater"}"#),
};
const PER_PAGE: AddressInteger = AddressInteger {
    min: 1,
    malformed: rejection(r#"{"detail":"per_page must be an integer"}"#),
    below: rejection(r#"{"detail":"per_page must be 1 or greater"}"#),
};

/// The known parameters, decoded and trimmed; the last of a repeated one, none if it is empty.
struct RawValues<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> RawValues<'a> {
    fn of(query_string: &'a str) -> Self {
        let mut values = Vec::with_capacity(PARAMETERS_USUAL);
        values.extend(parameters(query_string));
        Self(values)
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().rev();
        let (_, value) = values.find(|(known, _)| known == name)?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }

    fn integer(
        &self,
        name: &str,
        expected: &AddressInteger,
    ) -> Result<Option<u32>, AddressRejection> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let (is_negative, digits) = match value.as_bytes()[0] {
            b'-' => (true, &value[1..]),
            b'+' => (false, &value[1..]),
            _ => (false, value),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(expected.malformed);
        }
        let number = digits.parse().unwrap_or(u32::MAX);
        let is_below = number < expected.min || is_negative && number != 0;
        if is_below {
            return Err(expected.below);
        }
        Ok(Some(number))
    }

    fn numbers(&self) -> Result<AddressNumbers, AddressRejection> {
        Ok(AddressNumbers {
            season: self.integer("season", &SEASON)?,
            episode: self.integer("episode", &EPISODE)?,
        })
    }
}

/// Parses the query string of a search below an address. Errors: the first parameter that is not
/// valid.
pub fn address_search(query_string: &str) -> Result<AddressSearch, AddressRejection> {
    let values = RawValues::of(query_string);
    let text = |name: &str| values.get(name).map(str::to_owned);
    let hi = match values.get("hi") {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return Err(HI),
    };
    let year = values.integer("year", &YEAR)?;
    let numbers = values.numbers()?;
    let page = values.integer("page", &PAGE)?.unwrap_or(1);
    let per_page = values.integer("per_page", &PER_PAGE)?;
    Ok(AddressSearch {
        query: text("query"),
        imdb_id: text("imdb_id"),
        language: text("language"),
        hi,
        year,
        numbers,
        page: page.min(ADDRESS_PAGE_MAX),
        per_page: per_page
            .unwrap_or(PER_PAGE_DEFAULT)
            .min(u32::from(ADDRESS_ITEMS_MAX)),
    })
}

/// Parses season and episode of a download below an address.
pub fn address_numbers(query_string: &str) -> Result<AddressNumbers, AddressRejection> {
    RawValues::of(query_string).numbers()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(query_string: &str) -> &'static str {
        address_search(query_string).map_or_else(|rejection| rejection.body, |_| "")
    }

    #[test]
    fn rule_20_8_the_first_fault_in_the_order_of_the_parameters() {
        let mess = "per_page=x&page=0&episode=-1&season=x&year=x&hi=1";
        assert_eq!(fault(mess), HI.body);
        for (cut, expected) in [
            ("&hi=1", YEAR.malformed.body),
            ("&year=x&hi=1", SEASON.malformed.body),
            ("&season=x&year=x&hi=1", EPISODE.below.body),
            ("&episode=-1&season=x&year=x&hi=1", PAGE.below.body),
            (
                "&page=0&episode=-1&season=x&year=x&hi=1",
                PER_PAGE.malformed.body,
            ),
        ] {
            assert_eq!(fault(mess.strip_suffix(cut).unwrap()), expected, "{cut}");
        }
    }

    #[test]
    fn rule_20_8_integers_are_digits_perhaps_behind_a_sign() {
        let season = |text: &str| {
            let search = address_search(&format!("season={text}"));
            search.map(|search| search.numbers.season)
        };
        assert_eq!(season("7"), Ok(Some(7)));
        assert_eq!(season("%2B007"), Ok(Some(7)));
        assert_eq!(season("-0"), Ok(Some(0)));
        assert_eq!(season("+7"), Ok(Some(7)), "a space");
        assert_eq!(season(""), Ok(None));
        assert_eq!(season("99999999999999999999"), Ok(Some(u32::MAX)));
        assert_eq!(season("-1"), Err(SEASON.below));
        for text in ["1.0", "x", "-", "%2B", "--1", "1_0", "٣"] {
            assert_eq!(season(text), Err(SEASON.malformed), "{text}");
        }
    }

    #[test]
    fn rule_20_8_pages_are_bounded() {
        let pages = |text: &str| {
            let search = address_search(text).unwrap();
            (search.page, search.per_page)
        };
        assert_eq!(pages(""), (1, 50));
        assert_eq!(pages("page=1000001&per_page=201"), (1_000_000, 200));
        assert_eq!(pages("page=3&per_page=1&page=2&x=y"), (2, 1));
    }

    #[test]
    fn rule_20_8_texts_are_trimmed_and_empty_ones_not_supplied() {
        let search = address_search("query=+Lost+&imdb_id=&language=+").unwrap();
        assert_eq!(search.query.as_deref(), Some("Lost"));
        assert_eq!(
            (search.imdb_id, search.language, search.hi),
            (None, None, None)
        );
        assert_eq!(address_search("hi=false").unwrap().hi, Some(false));
    }
}
