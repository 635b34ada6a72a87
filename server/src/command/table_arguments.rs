//! Options of `subcat import` for tables of others.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use subcat_engine::{Language, Timestamp};

use super::error::CommandError;
use crate::rows::{ColumnMap, DateOrder, RowOptions, TableOptions};

/// Options for reading a table.
#[derive(Debug, Args)]
pub(super) struct TableArguments {
    /// Columns of fields: title=Name,year=A|B (first that is not null), description=A+B (lines),
    /// is_active=!A (not)
    #[arg(long, value_name = "FIELD=COLUMN,...")]
    map: Option<String>,
    /// Order of day and month in dates such as 05/07/2009
    #[arg(long, value_enum)]
    dates: Option<DateOrderName>,
    /// Language of rows and paths that name none [default: es]
    #[arg(long, value_name = "TAG")]
    language: Option<String>,
    /// Load only these languages, by their first subtag: es,en
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    languages: Vec<String>,
    /// Folder of the files that a column `file` names [default: that of the table]
    #[arg(long = "files", value_name = "DIR")]
    pub(super) files_folder: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DateOrderName {
    /// Day, month, year
    Dmy,
    /// Month, day, year
    Mdy,
}

/// An option that is not a language.
#[derive(Debug, thiserror::Error)]
#[error("{option} {tag:?}: it must be a language tag such as es-MX")]
struct LanguageOptionError {
    option: &'static str,
    tag: String,
}

impl TableArguments {
    /// The options.
    ///
    /// Errors: usage.
    pub(super) fn options(&self, now: Timestamp) -> Result<TableOptions, CommandError> {
        let Self {
            map,
            dates,
            language,
            languages,
            files_folder: _,
        } = self;
        let checked = |option, tag: &str| match Language::parse_any_service(tag) {
            Some(tag) => Ok(tag.as_str().to_owned()),
            None => Err(CommandError::usage(LanguageOptionError {
                option,
                tag: tag.to_owned(),
            })),
        };
        let language = language.as_deref().map(|tag| checked("--language", tag));
        let wanted = languages.iter().map(|tag| checked("--languages", tag));
        let map = map.as_deref().map(ColumnMap::parse).transpose();
        let options = TableOptions {
            map: map.map_err(CommandError::usage)?.unwrap_or_default(),
            rows: RowOptions {
                dates: dates.map(|order| match order {
                    DateOrderName::Dmy => DateOrder::DayFirst,
                    DateOrderName::Mdy => DateOrder::MonthFirst,
                }),
                language: language.transpose()?,
                languages: wanted.collect::<Result<_, _>>()?,
                next_year: 0,
            },
            is_asked: false,
        };
        let is_asked = options != TableOptions::default();
        let rows = RowOptions {
            next_year: year_of(now) + 1,
            ..options.rows
        };
        Ok(TableOptions {
            is_asked,
            rows,
            ..options
        })
    }
}

/// The year of a point in time.
pub(super) fn year_of(now: Timestamp) -> u16 {
    let text = now.to_string();
    text.get(..4)
        .and_then(|year| year.parse().ok())
        .unwrap_or(0)
}
