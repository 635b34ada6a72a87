//! Preparation of a comparison: a catalog with known records, their files in the cache, and the
//! bytes that every server is going to send.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use super::nginx::Nginx;
use super::works::{Kind, WORKS, Work};
use crate::child::output;
use crate::error::{BenchError, Result};
use crate::fetch::{Answer, fetch};
use crate::random::Random;
use crate::subcat::Program;

/// Records that the search of the comparison finds: their answer is about 2 KB.
const FOUND_COUNT: usize = 6;
/// A word that no other title has.
const RARE_WORD: &str = "Zarabandija";

/// One work, and the answer that all servers give to it.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The work.
    pub work: Work,
    /// Request target for the service.
    pub target: String,
    /// Request headers.
    pub headers: Vec<String>,
    /// The service's answer.
    pub answer: Answer,
}

/// A folder with catalog, files and answers; removed when this is dropped.
#[derive(Debug)]
pub struct Stage {
    folder: TempDir,
    program: Program,
    /// `Authorization` of a key that no load exhausts.
    pub authorization: String,
}

impl Stage {
    /// Imports `catalog` (if there is one) and the records of the works, and makes a key.
    pub fn set_up(program: &Program, catalog: Option<&Path>) -> Result<Self> {
        let folder = TempDir::with_prefix("subcat-compare-")
            .map_err(BenchError::on("make a temporary folder"))?;
        let mut stage = Self {
            folder,
            program: program.clone(),
            authorization: String::new(),
        };
        let data = stage.data("first");
        if let Some(catalog) = catalog {
            program.import(&data, catalog)?;
        }
        let records = stage.path("works.jsonl");
        write(&records, records_of_works().as_bytes())?;
        program.import(&data, &records)?;
        stage.authorization = Program::authorization(&program.api_key(&data)?);
        for work in WORKS.iter().filter(|work| work.kind != Kind::Json) {
            write(&stage.file(work), &subtitles(work.bytes))?;
        }
        Ok(stage)
    }

    /// Requests every work once, so that its file is cached, and returns the answers.
    pub fn prepare(&self, only: Option<&str>) -> Result<Vec<Prepared>> {
        let upstream = Nginx::of_files(self.folder.path(), &self.path("files"))?;
        let url = upstream.server.url("/{source_release_id}");
        let settings = [("workers", "1"), ("upstream.url", url.as_str())];
        let data = self.data("first");
        let server = self.program.serve("subcat", &data, None, &settings)?;
        let mut prepared = Vec::new();
        for (idx, work) in WORKS.iter().enumerate() {
            if only.is_some_and(|name| name != work.name) {
                continue;
            }
            let mut headers = vec![self.authorization.clone()];
            if work.kind == Kind::Gzip {
                headers.push("Accept-Encoding: gzip".to_owned());
            }
            let target = target(work, idx);
            let answer = fetch(server.address, &target, &headers)?;
            check(work, &answer)?;
            if work.kind == Kind::Gzip {
                let variant = self.file(work).with_extension("srt.gz");
                write(&variant, &answer.body)?;
            }
            prepared.push(Prepared {
                work: *work,
                target,
                headers,
                answer,
            });
        }
        Ok(prepared)
    }

    /// Copies the data directory for one more server. No server may have the original open.
    pub fn copy_data(&self, name: &str) -> Result<PathBuf> {
        let copy = self.data(name);
        let mut command = Command::new("cp");
        output(command.arg("-a").arg(self.data("first")).arg(&copy))?;
        Ok(copy)
    }

    /// The folder of this stage.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Path of a work's file for nginx and the floor.
    pub fn file(&self, work: &Work) -> PathBuf {
        self.path("files").join(format!("{}.srt", work.name))
    }

    fn data(&self, name: &str) -> PathBuf {
        self.path(&format!("data-{name}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(BenchError::on(format!("write {}", path.display())))
}

/// Id of a record, evenly spread like the ids of a real catalog: the service interpolates the
/// position of a record from its id.
fn id(idx: usize) -> String {
    let mut random = Random::new(idx as u64);
    let digits = |count: usize| -> String {
        let digit = |_| char::from(b"0123456789abcdef"[random.below(16)]);
        (0..count).map(digit).collect()
    };
    let parts = [8, 4, 3, 3, 12].map(digits);
    let [first, second, third, fourth, last] = parts;
    format!("{first}-{second}-4{third}-8{fourth}-{last}")
}

fn target(work: &Work, idx: usize) -> String {
    match (work.kind, work.name) {
        (Kind::Json, "search") => format!("/api/subtitles/search?query={RARE_WORD}"),
        (Kind::Json, _) => format!("/api/subtitles/{}", id(idx)),
        (Kind::File | Kind::Gzip, _) => format!("/api/subtitles/{}/download", id(idx)),
    }
}

/// One record per work, and those that the search finds, as import lines.
fn records_of_works() -> String {
    let about = "Sincronizados para la version WEB-DL de 1080p, revisados linea por linea.";
    let mut lines = String::new();
    for (idx, work) in WORKS.iter().enumerate() {
        let file = format!("{}.srt", work.name);
        let record = json!({
            "id": id(idx),
            "video_type": "movie",
            "title": format!("Obra {}", work.name),
            "year": 2019,
            "catalog_id": "tt7654321",
            "description": about,
            "uploader_name": "banco",
            "posted_at": format!("2025-03-0{}T10:00:00Z", idx + 1),
            "downloads": 17,
            "source_release_id": file,
            "file_name": file,
        });
        writeln!(lines, "{record}").expect("a String takes all text");
    }
    for episode in 1..=FOUND_COUNT {
        let record = json!({
            "id": id(1000 + episode),
            "video_type": "episode",
            "title": format!("{RARE_WORD} S01E0{episode}"),
            "season": 1,
            "episode": episode,
            "year": 2021,
            "catalog_id": "tt7654322",
            "description": about,
            "uploader_name": "banco",
            "posted_at": format!("2025-04-0{episode}T10:00:00Z"),
            "downloads": 4711,
        });
        writeln!(lines, "{record}").expect("a String takes all text");
    }
    lines
}

/// A .srt file of exactly this size in bytes; the same for the same size.
fn subtitles(bytes: usize) -> Vec<u8> {
    const WORDS: &str = "la casa del norte no tiene puertas cuando llega el invierno y nadie \
        recuerda por que se fueron los que vivian alli antes que nosotros dijo ella mirando el rio";
    let words: Vec<&str> = WORDS.split(' ').collect();
    let mut random = Random::new(bytes as u64);
    let mut text = String::with_capacity(bytes + 128);
    let mut cue = 0;
    while text.len() < bytes {
        let (minutes, seconds) = (cue / 20 % 60, cue * 3 % 60);
        cue += 1;
        let time = format!("00:{minutes:02}:{seconds:02}");
        write!(text, "{cue}\n{time},000 --> {time},900\n").expect("a String takes all text");
        for _ in 0..8 {
            text.push_str(words[random.below(words.len())]);
            text.push(' ');
        }
        text.push_str("\n\n");
    }
    text.truncate(bytes);
    text.into_bytes()
}

fn check(work: &Work, answer: &Answer) -> Result<()> {
    let name = work.name;
    if answer.status != 200 {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let status = answer.status;
        return Err(BenchError::new(format!(
            "{name} is answered with {status}: {text}"
        )));
    }
    let is_right = match work.kind {
        Kind::Json => 200 < answer.body.len(),
        Kind::File => answer.body == subtitles(work.bytes),
        Kind::Gzip => answer.header("content-encoding") == Some("gzip"),
    };
    if is_right {
        return Ok(());
    }
    Err(BenchError::new(format!(
        "{name} is answered with another content than was made for it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_size_and_form() {
        for bytes in [60 * 1024, 40 * 1024] {
            let text = subtitles(bytes);
            assert_eq!(text.len(), bytes);
            assert!(text.starts_with(b"1\n00:00:00,000 --> 00:00:00,900\n"));
        }
    }

    #[test]
    fn records_are_json_lines() {
        let lines = records_of_works();
        assert_eq!(lines.lines().count(), WORKS.len() + FOUND_COUNT);
        for line in lines.lines() {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(record["id"].is_string(), "{line}");
        }
    }
}
