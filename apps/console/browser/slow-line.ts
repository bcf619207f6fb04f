/**
 * `npm run console:slow-line -- [PAGE…]`: how soon each page has content on a slow line: 1.6 Mbit/s with round trips of 150 ms, signed in,
 * with an empty cache. Beside it, how many bytes and how many requests after each other that takes, and what moves meanwhile.
 */
import { type MeasuredPage, measureOnSlowLine, PAGES_WITH_CONTENT } from './measure-slow-line.ts';
import { runConsole } from './run-console.ts';
import { seed } from './seed.ts';
import { seedPast } from './seed-past.ts';

const only = process.argv.slice(2);
const running = await runConsole(process.env.CHROMIUM_PATH);
try {
  const { keyId } = await seed(running);
  await seedPast(running.stack.redisUrl, keyId);
  const measured = [];
  const isPage = (path: string): path is MeasuredPage => Object.hasOwn(PAGES_WITH_CONTENT, path);
  for (const path of Object.keys(PAGES_WITH_CONTENT).filter(isPage)) {
    if (only.length > 0 && !only.includes(path)) continue;
    const { contentMs, bytes, chain, shift } = await measureOnSlowLine(running, path);
    measured.push({
      page: path,
      'content after, ms': Math.round(contentMs),
      kilobytes: Math.round(bytes / 1000),
      'after each other': chain.length,
      'layout shift': Math.round(shift * 1000) / 1000,
    });
    if (only.length > 0) console.log(chain.join('\n'));
  }
  console.table(measured);
} finally {
  await running.close();
}
