import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorMessage } from '@gateway/contracts/error-message';
import { LineCounter, parseDocument } from 'yaml';
import { CommandError } from '../cli/admin-client.ts';
import { LitellmFile } from './litellm-file.ts';

const MAX_CHARACTERS = 4_000_000;
/** As many as a file of the gateway's own may have. */
const MAX_ALIASES = 100;
const MAX_INCLUDED = 50;

/**
 * LiteLLM's file with the files that it includes: their models come after its own, and of other sections the first counts.
 *
 * @throws {CommandError} in a sentence with the line
 */
export async function readLitellmFile(path: string): Promise<LitellmFile> {
  const main = await readOne(path);
  const included: LitellmFile[] = [];
  for (const name of main.include ?? []) {
    if (included.length === MAX_INCLUDED)
      throw new CommandError(`${path} includes more than ${MAX_INCLUDED} files.`);
    included.push(await readOne(resolve(dirname(path), name)));
  }
  if (included.length === 0) return main;
  const all = [main, ...included];
  return {
    ...Object.assign({}, ...all.toReversed()),
    include: main.include,
    model_list: all.flatMap(({ model_list: list }) => list ?? []),
    credential_list: all.flatMap(({ credential_list: list }) => list ?? []),
  };
}

async function readOne(path: string): Promise<LitellmFile> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`${path} cannot be read: ${errorMessage(error)}`);
  });
  if (text.length > MAX_CHARACTERS)
    throw new CommandError(`${path} has more than ${MAX_CHARACTERS.toLocaleString('en-US')} characters.`);
  const { data, error } = LitellmFile.safeParse(parsed(text, path));
  if (data !== undefined) return data;
  const [first] = error.issues;
  const place = first?.path.join('.') || 'the file';
  throw new CommandError(
    `${path} is not a configuration of LiteLLM's: ${place} is not what it has there (${first?.message}).`,
  );
}

function parsed(text: string, path: string): unknown {
  const lines = new LineCounter();
  // LiteLLM reads YAML 1.1, where << merges mappings.
  const document = parseDocument(text, { merge: true, lineCounter: lines, prettyErrors: false });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const { line } = lines.linePos(mistake.pos[0]);
    throw new CommandError(
      `${path}, line ${line}: it is not YAML (${mistake.code.toLowerCase().replaceAll('_', ' ')}).`,
    );
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    throw new CommandError(`${path} has more than ${MAX_ALIASES} aliases, one inside the other.`);
  }
}
