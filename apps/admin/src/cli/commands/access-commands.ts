import {
  balanceText,
  createdText,
  KEY_COLUMNS,
  linkText,
  PERSON_COLUMNS,
  rotatedText,
  webhookSecretText,
} from '../texts/access-texts.ts';
import { detailsOf, listOf, sentenceOf } from '../texts/table.ts';
import type { Commands } from './command-row.ts';
import { numberOrText, type Values } from './options.ts';
import { linkBody, personBody, settingsBody } from './settings-body.ts';

const KEYS = '/admin/v1/keys';
const TEAMS = '/admin/v1/teams';
const PEOPLE = '/admin/v1/people';
const PERSON = `${PEOPLE}/{ID}`;
const KEY = `${KEYS}/{ID}`;
const TEAM = `${TEAMS}/{NAME}`;

const USE_OPTIONS = ['limit', 'model-limit', 'budget', 'period', 'allow-unpriced'] as const;
const KEY_OPTIONS = [
  ...['name', 'team', 'owner', 'models', 'endpoints', 'expires-at', 'label', 'disable', 'enable'],
  'priority',
  'webhook-url',
  ...USE_OPTIONS,
] as const satisfies readonly string[];

const graceBody = ({ grace }: Values) => (grace === undefined ? {} : { graceSeconds: numberOrText(grace) });
const grace = { method: 'POST', options: ['grace'], body: graceBody } as const;

/** Keys and teams. */
export const ACCESS_COMMANDS: Commands = {
  'keys create': {
    method: 'POST',
    path: KEYS,
    options: KEY_OPTIONS,
    body: (values) => ({ name: 'cli', ...settingsBody(values) }),
    text: createdText,
  },
  'keys list': {
    path: KEYS,
    answer: 'list',
    text: listOf(KEY_COLUMNS, 'No keys yet. Create one: npm run gateway -- keys create --name NAME'),
  },
  'keys show': { path: KEY, text: detailsOf() },
  'keys balance': { path: `${KEY}/balance`, text: balanceText },
  'keys update': {
    method: 'PATCH',
    path: KEY,
    options: [...KEY_OPTIONS, 'remove'],
    body: settingsBody,
    text: detailsOf(),
  },
  'keys rotate': { ...grace, path: `${KEY}/rotate`, text: rotatedText },
  'keys webhook-secret': { ...grace, path: `${KEY}/webhook-secret`, text: webhookSecretText },
  'keys revoke': {
    method: 'DELETE',
    path: KEY,
    text: sentenceOf(({ id, name }) => `Revoked key ${id} (${name}).`),
  },
  'teams create': {
    method: 'POST',
    path: TEAMS,
    argument: 'NAME',
    options: USE_OPTIONS,
    body: (values, name) => ({ ...settingsBody(values), name }),
    text: detailsOf(),
  },
  'teams list': {
    path: TEAMS,
    answer: 'list',
    text: listOf(
      { NAME: 'name', LIMITS: 'limits', BUDGET: 'budget' },
      'No teams yet. Create one: npm run gateway -- teams create NAME',
    ),
  },
  'teams show': { path: TEAM, text: detailsOf() },
  'teams balance': { path: `${TEAM}/balance`, text: balanceText },
  'teams update': {
    method: 'PATCH',
    path: TEAM,
    options: [...USE_OPTIONS, 'remove'],
    body: settingsBody,
    text: detailsOf(),
  },
  'people invite': {
    method: 'POST',
    path: PEOPLE,
    argument: 'EMAIL',
    options: ['name', 'role', 'teams', 'send-email'],
    body: (values, email) => ({
      ...{ name: email, role: 'admin' },
      ...personBody({ ...values, email }),
      ...linkBody(values),
    }),
    text: linkText,
  },
  'people list': {
    path: PEOPLE,
    answer: 'list',
    text: listOf(PERSON_COLUMNS, 'No people yet. Invite one: npm run gateway -- people invite EMAIL'),
  },
  'people show': { path: PERSON, text: detailsOf() },
  'people update': {
    method: 'PATCH',
    path: PERSON,
    options: ['name', 'role', 'teams', 'disable', 'enable'],
    body: personBody,
    text: detailsOf(),
  },
  'people link': {
    method: 'POST',
    path: `${PERSON}/link`,
    options: ['send-email'],
    body: linkBody,
    text: linkText,
  },
  'people sign-out': {
    method: 'POST',
    path: `${PERSON}/sign-out`,
    text: sentenceOf(({ email }) => `All sessions of ${email} have ended.`),
  },
  'people delete': {
    method: 'DELETE',
    path: PERSON,
    text: sentenceOf(({ id, email }) => `Deleted person ${id} (${email}).`),
  },
  'teams delete': { method: 'DELETE', path: TEAM, text: detailsOf() },
};
