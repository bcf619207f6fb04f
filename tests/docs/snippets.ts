import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** A block of code on a page. */
export interface Snippet {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  /** What follows the language on its first line, such as `not-run=docker`. */
  readonly mark: string;
  /** Without the indentation of a list. */
  readonly text: string;
}

/** The pages that people read to do something; decisions and the changelog tell of the past. */
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/*.md', 'docs/clouds/*.md'];
const FENCE = /^( *)```(\S*) *([^\n]*)\n(.*?)^\1```$/gms;

export async function readSnippets(): Promise<readonly Snippet[]> {
  const pages = globSync(PAGES, { cwd: ROOT }).toSorted();
  const snippets = await Promise.all(
    pages.map(async (page) => snippetsIn(page, await readFile(join(ROOT, page), 'utf8'))),
  );
  return snippets.flat();
}

/** Whatever readers see as the begin or the end of a block. */
const FENCE_LINE = /^[\s>]*(?:[-*+] |\d+[.)] )?(?:`{3,}|~{3,})/gm;

/** Pages with blocks that are written in another way than `readSnippets` finds them: their commands would not be run. */
export async function pagesWithOtherBlocks(): Promise<readonly string[]> {
  const found = await readSnippets();
  const pages = globSync(PAGES, { cwd: ROOT }).toSorted();
  const fences = await Promise.all(
    pages.map(async (page) => (await readFile(join(ROOT, page), 'utf8')).match(FENCE_LINE)?.length ?? 0),
  );
  return pages.filter((page, at) => fences[at] !== 2 * found.filter((one) => one.page === page).length);
}

function snippetsIn(page: string, markdown: string): Snippet[] {
  return [...markdown.matchAll(FENCE)].map((match) => {
    const [, indentation = '', language = '', mark = '', text = ''] = match;
    return {
      page,
      line: markdown.slice(0, match.index).split('\n').length,
      language,
      mark: mark.trim(),
      text: text
        .split('\n')
        .map((line) => (line.startsWith(indentation) ? line.slice(indentation.length) : line))
        .join('\n'),
    };
  });
}

/** Why a block of commands is not run, and what else is sure of it. */
export const REASONS: Readonly<Record<string, string>> = {
  checkout:
    'works on a checkout of its own: scripts/start.test.ts starts one, and npm test and its like are what runs the tests',
  docker: 'needs Docker; tests/compose-file.test.ts reads the files',
  cluster: 'needs a cluster; tests/chart renders what it installs',
  network: 'calls a provider or server of the reader; tests of the command call ones of their own',
  agent: 'needs an agent from its vendor: npm run agents',
  state: 'needs a job or webhook in a state that no page makes; tests of the admin service have it',
  settings: 'is lines of a .env file',
};

const NOT_RUN = /^not-run=([\w-]+)$/;

/** The reason that a block names for not being run; undefined if it runs. */
export function reasonOf({ page, line, mark }: Snippet): string | undefined {
  if (mark === '') return undefined;
  const reason = NOT_RUN.exec(mark)?.[1];
  if (reason === undefined || !Object.hasOwn(REASONS, reason))
    throw new Error(
      `${page}:${line}: "${mark}" is no mark of a block of commands. It is not-run= and one of ${Object.keys(REASONS).join(', ')}.`,
    );
  return reason;
}
