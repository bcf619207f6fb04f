import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { openapiDocument } from '@gateway/contracts/endpoints/openapi';
import { outputOf } from './links.ts';
import { CHANGELOG, DECISIONS, MENU } from './menu.ts';
import { openapiMarkdown } from './openapi-markdown.ts';

export interface Page {
  /** Its file from the root of the repository; what is made by the build has the name that a file would have. */
  readonly source: string;
  /** Its path on the site, such as `clouds/aws.html`. */
  readonly output: string;
  readonly title: string;
  readonly markdown: string;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

export interface Pages {
  /** In the order of the menu. */
  readonly sections: readonly Section[];
  /** Those of the sections and those that another page lists. */
  readonly all: readonly Page[];
  /** The version that the pages describe. */
  readonly version: string;
}

const HEADING = /^# (.+)$/m;
const NEWEST_VERSION = /^## \[?([^\]\n]+)\]?/m;
const DATED = /^(\d{4}-\d{2}-\d{2})-/;

const plain = (text: string): string => text.replaceAll('`', '');

function pageOf(source: string, markdown: string): Page {
  const title = HEADING.exec(markdown)?.[1];
  if (title === undefined) throw new Error(`${source} does not begin with a heading: # Title`);
  return { source, output: outputOf(source), title: plain(title), markdown };
}

/**
 * Reads every page of the site.
 *
 * @param adminOpenapi the description of the admin API
 * @throws {Error} with the pages of `docs/` that are in no menu, or the entries of the menu without a file
 */
export async function readPages(root: string, adminOpenapi: unknown): Promise<Pages> {
  const read = async (source: string): Promise<Page> =>
    pageOf(source, await readFile(join(root, source), 'utf8'));
  const listed = MENU.flatMap(({ pages }) => pages);
  const found = globSync('docs/**/*.md', { cwd: root }).filter((file) => !file.startsWith(`${DECISIONS}/`));
  const missing = found.filter((file) => !listed.includes(file));
  if (missing.length > 0)
    throw new Error(`In no menu: ${missing.toSorted().join(', ')}. Name it in apps/docs/src/menu.ts.`);

  const changelog = await read(CHANGELOG);
  const version = NEWEST_VERSION.exec(changelog.markdown)?.[1] ?? 'unknown';
  const decisions = await Promise.all(
    globSync(`${DECISIONS}/*.md`, { cwd: root }).toSorted().toReversed().map(read),
  );
  const decisionList = pageOf(`${DECISIONS}/README.md`, decisionsMarkdown(decisions));
  const references = [
    pageOf(
      'docs/reference/gateway-api.md',
      openapiMarkdown('Reference: the gateway’s API', GATEWAY_INTRODUCTION, openapiDocument()),
    ),
    pageOf(
      'docs/reference/admin-api.md',
      openapiMarkdown('Reference: the admin API', ADMIN_INTRODUCTION, adminOpenapi),
    ),
  ];
  const sections = [
    ...(await Promise.all(
      MENU.map(async ({ title, pages }) => ({ title, pages: await Promise.all(pages.map(read)) })),
    )),
    { title: 'Reference', pages: [...references, decisionList, changelog] },
  ];
  return { sections, all: [...sections.flatMap(({ pages }) => pages), ...decisions], version };
}

const GATEWAY_INTRODUCTION =
  'Every path that callers can reach, made from the description that the gateway itself serves at `GET /openapi.json`. ' +
  'What the members do, and how providers differ: [the API](../api.md). Members that are not named here are passed on.';
const ADMIN_INTRODUCTION =
  'Every call of the admin service, made from the description that it serves at `GET /admin/v1/openapi.json`, ' +
  'which is made from the schemas by which calls are checked. What they mean, and who may make them: [the admin API](../admin-api.md).';

function decisionsMarkdown(decisions: readonly Page[]): string {
  const rows = decisions.map(({ source, title }) => {
    const file = posix.basename(source);
    return `| ${DATED.exec(file)?.[1] ?? ''} | [${title}](${file}) |`;
  });
  return [
    '# Decisions',
    '',
    'Why things are as they are, newest first.',
    '',
    '| date | decision |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}
