import * as texts from '../texts/texts.ts';
import { at, type Commands } from './command-row.ts';
import { numberOrText, type Values } from './options.ts';
import { settingsBody } from './settings-body.ts';

const KEYS = '/admin/v1/keys';
const TEAMS = '/admin/v1/teams';

const USE_OPTIONS = ['limit', 'model-limit', 'budget', 'period', 'allow-unpriced'] as const;
const KEY_OPTIONS = [
  ...['name', 'team', 'owner', 'models', 'endpoints', 'expires-at', 'label', 'disable', 'enable'],
  'priority',
  'webhook-url',
  ...USE_OPTIONS,
] as const satisfies readonly string[];

const graceBody = ({ grace }: Values) => (grace === undefined ? {} : { graceSeconds: numberOrText(grace) });

/** Keys and teams. */
export const ACCESS_COMMANDS: Commands = {
  'keys create': {
    argument: null,
    options: KEY_OPTIONS,
    method: 'POST',
    path: () => KEYS,
    body: (values) => ({ name: 'cli', ...settingsBody(values) }),
    answer: 'value',
    text: texts.createdText,
  },
  'keys list': {
    argument: null,
    options: [],
    method: 'GET',
    path: () => KEYS,
    answer: 'list',
    text: texts.keysText,
  },
  'keys show': {
    argument: 'ID',
    options: [],
    method: 'GET',
    path: at(KEYS),
    answer: 'value',
    text: texts.keyText,
  },
  'keys balance': {
    argument: 'ID',
    options: [],
    method: 'GET',
    path: (id) => `${at(KEYS)(id)}/balance`,
    answer: 'value',
    text: texts.balanceText,
  },
  'keys update': {
    argument: 'ID',
    options: [...KEY_OPTIONS, 'remove'],
    method: 'PATCH',
    path: at(KEYS),
    body: settingsBody,
    answer: 'value',
    text: texts.keyText,
  },
  'keys rotate': {
    argument: 'ID',
    options: ['grace'],
    method: 'POST',
    path: (id) => `${at(KEYS)(id)}/rotate`,
    body: graceBody,
    answer: 'value',
    text: texts.rotatedText,
  },
  'keys webhook-secret': {
    argument: 'ID',
    options: ['grace'],
    method: 'POST',
    path: (id) => `${at(KEYS)(id)}/webhook-secret`,
    body: graceBody,
    answer: 'value',
    text: texts.webhookSecretText,
  },
  'keys revoke': {
    argument: 'ID',
    options: [],
    method: 'DELETE',
    path: at(KEYS),
    answer: 'value',
    text: texts.revokedText,
  },
  'teams create': {
    argument: 'NAME',
    options: USE_OPTIONS,
    method: 'POST',
    path: () => TEAMS,
    body: (values, name) => ({ ...settingsBody(values), name }),
    answer: 'value',
    text: texts.teamText,
  },
  'teams list': {
    argument: null,
    options: [],
    method: 'GET',
    path: () => TEAMS,
    answer: 'list',
    text: texts.teamsText,
  },
  'teams show': {
    argument: 'NAME',
    options: [],
    method: 'GET',
    path: at(TEAMS),
    answer: 'value',
    text: texts.teamText,
  },
  'teams balance': {
    argument: 'NAME',
    options: [],
    method: 'GET',
    path: (name) => `${at(TEAMS)(name)}/balance`,
    answer: 'value',
    text: texts.balanceText,
  },
  'teams update': {
    argument: 'NAME',
    options: [...USE_OPTIONS, 'remove'],
    method: 'PATCH',
    path: at(TEAMS),
    body: settingsBody,
    answer: 'value',
    text: texts.teamText,
  },
  'teams delete': {
    argument: 'NAME',
    options: [],
    method: 'DELETE',
    path: at(TEAMS),
    answer: 'value',
    text: texts.teamText,
  },
};
