// Searches for a title and downloads the first hit: node download.mjs blade runner 2049
import { writeFile } from "node:fs/promises";

const { SUBCAT_URL, SUBCAT_KEY } = process.env;

/** The answer to a GET; waits when the rate limit says so. */
async function get(path) {
  for (;;) {
    const answer = await fetch(SUBCAT_URL + path, {
      headers: { Authorization: `Bearer ${SUBCAT_KEY}` },
      signal: AbortSignal.timeout(60_000),
    });
    if (answer.ok) return answer;
    if (answer.status !== 429) {
      const { detail } = await answer.json();
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(detail)}`);
    }
    const seconds = Number(answer.headers.get("Retry-After"));
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

const query = new URLSearchParams({ query: process.argv.slice(2).join(" "), limit: "1" });
const { items } = await (await get(`/api/subtitles/search?${query}`)).json();
if (items.length === 0) {
  console.error("nothing found");
  process.exit(1);
}
const answer = await get(`/api/subtitles/${items[0].id}/download`);
const [, name] = answer.headers.get("Content-Disposition").match(/filename="([^"]+)"/);
await writeFile(name, Buffer.from(await answer.arrayBuffer()));
console.log(name);
