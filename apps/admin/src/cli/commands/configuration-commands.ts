import { triedText } from '../texts/channel-texts.ts';
import { listOf, sentenceOf } from '../texts/table.ts';
import type { Commands } from './command-row.ts';

const CONFIGURATION = '/admin/v1/configuration';
const QUESTION = 'Answer with the word OK.';
const inUse = sentenceOf(({ number, reason }) => `Revision ${number} is in use: ${reason}`);

/** The configuration: a try of another one, and where the database has it, its revisions. */
export const CONFIGURATION_COMMANDS: Commands = {
  'configuration export': {
    method: 'POST',
    path: `${CONFIGURATION}/draft`,
    body: () => ({}),
    text: sentenceOf(({ text }) => String(text).trimEnd()),
  },
  'configuration import': {
    method: 'POST',
    path: `${CONFIGURATION}/revisions`,
    argument: 'FILE',
    fileMember: 'text',
    options: ['reason'],
    body: ({ reason }, file) => ({ reason: reason ?? `Imported from ${file}` }),
    text: inUse,
  },
  'configuration try': {
    method: 'POST',
    path: `${CONFIGURATION}/draft/try`,
    argument: 'FILE',
    fileMember: 'text',
    options: ['key', 'model', 'input'],
    body: ({ key, model, input = QUESTION }) => ({ keyId: key, model, input }),
    text: triedText,
  },
  'configuration history': {
    path: `${CONFIGURATION}/revisions`,
    options: ['count'],
    query: ({ count }) => ({ limit: count }),
    answer: 'page',
    text: listOf({ REVISION: 'number', AT: 'at', AUTHOR: 'author', REASON: 'reason' }, 'No revisions yet.'),
  },
  'configuration restore': {
    method: 'POST',
    path: `${CONFIGURATION}/revisions/{NUMBER}/restore`,
    options: ['reason'],
    body: ({ reason }, number) => ({ reason: reason ?? `Back to revision ${number}` }),
    text: inUse,
  },
};
