//! `subcat explain`: why does a search answer as it does?

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::access::{Missing, perform_once};
use super::context::{Context, Stop};
use crate::ops::Operation;

/// Show how a search is read, planned and ranked, with sizes and timings per step
///
/// The arguments are the parameters of GET /api/subtitles/search.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// Free text
    #[arg(long)]
    query: Option<String>,
    /// A title or a part of it
    #[arg(long)]
    title: Option<String>,
    /// An external id, such as tt0113277
    #[arg(long)]
    catalog_id: Option<String>,
    /// A record's id
    #[arg(long)]
    public_id: Option<String>,
    /// 1900 to 2100
    #[arg(long)]
    year: Option<String>,
    /// movie or episode
    #[arg(long)]
    video_type: Option<String>,
    /// A language tag, such as es-MX
    #[arg(long)]
    language: Option<String>,
    /// 1 to 200
    #[arg(long)]
    limit: Option<String>,
    /// With --video-type episode
    #[arg(long)]
    season: Option<String>,
    /// With --video-type episode
    #[arg(long)]
    episode: Option<String>,
}

impl Explain {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let query_string = self.query_string();
        let config = context.effective(&[])?.config;
        let operation = Operation::Explain { query_string };
        let answer = perform_once(config, Missing::Refuse, operation)?;
        context.show(&answer, |text: &String| format!("{}\n", text.trim_end()))
    }

    /// The same search as a client would ask it: one reading for both.
    fn query_string(&self) -> String {
        let parameters = [
            ("query", &self.query),
            ("title", &self.title),
            ("catalog_id", &self.catalog_id),
            ("public_id", &self.public_id),
            ("year", &self.year),
            ("video_type", &self.video_type),
            ("language", &self.language),
            ("limit", &self.limit),
            ("season", &self.season),
            ("episode", &self.episode),
        ];
        let given = parameters.iter().filter_map(|(name, value)| {
            let value = utf8_percent_encode(value.as_deref()?, NON_ALPHANUMERIC);
            Some(format!("{name}={value}"))
        });
        given.collect::<Vec<String>>().join("&")
    }
}
