import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ContentRecord } from '@gateway/contracts/content-log';
import { waitFor } from '@gateway/testkit/wait-for';
import { CONTENT_SPOOL } from '../content-log/content-spool.ts';

/** Every line that a content log has written and not brought away. */
async function spooledLines(dataDir: string): Promise<readonly ContentRecord[]> {
  const folder = join(dataDir, CONTENT_SPOOL);
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1));
  return lines.map((line) => ContentRecord.parse(JSON.parse(line)));
}

/** Those about one request, once there are so many. */
export const loggedLines = (
  dataDir: string,
  requestId: string,
  count: number,
): Promise<readonly ContentRecord[]> =>
  waitFor(async () => {
    const found = (await spooledLines(dataDir)).filter((record) => record.requestId === requestId);
    return found.length >= count && found;
  });
