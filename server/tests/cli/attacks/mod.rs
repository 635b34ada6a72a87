//! Attacks on the running program: those of a review (R1 to R14), and more on what came later. Each
//! that held is a line of a table on stdout (`scripts/attacks`).

mod browser;
mod hostile;
mod input;
mod names;
mod review;
mod scene;
mod web;
