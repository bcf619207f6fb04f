import { channelsText, restedText, wokenText } from './channel-texts.ts';
import { list, numberOrText, type OptionName, type Values } from './options.ts';
import { attentionText, requestsText, requestText } from './request-texts.ts';
import { settingsBody } from './settings-body.ts';
import * as texts from './texts.ts';

/** One call of the admin API, and how its answer is printed. */
export interface CommandRow {
  /** The argument's name, if it needs one. */
  readonly argument: 'ID' | 'NAME' | null;
  readonly options: readonly OptionName[];
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: (argument: string) => string;
  readonly query?: (values: Values) => Readonly<Record<string, string | undefined>>;
  readonly body?: (values: Values, argument: string) => Readonly<Record<string, unknown>>;
  /**
   * `value`: the answer itself. `list`: all pages' items. `page`: the first page's items. `stream`: text, printed as it
   * arrives.
   */
  readonly answer: 'value' | 'list' | 'page' | 'stream';
  readonly text: (answer: unknown, nowMs: number) => string;
}

const KEYS = '/admin/v1/keys';
const TEAMS = '/admin/v1/teams';
const REQUESTS = '/admin/v1/requests';
const WEBHOOKS = '/admin/v1/webhooks';
const JOBS = '/admin/v1/jobs';
const CHANNELS = '/admin/v1/channels';
const at = (base: string) => (argument: string) => `${base}/${encodeURIComponent(argument)}`;

const USE_OPTIONS = ['limit', 'model-limit', 'budget', 'period', 'allow-unpriced'] as const;
const KEY_OPTIONS = [
  ...['name', 'team', 'owner', 'models', 'endpoints', 'expires-at', 'label', 'disable', 'enable'],
  'priority',
  'webhook-url',
  ...USE_OPTIONS,
] as const satisfies readonly string[];
const FILTERS = ['from', 'to', 'key', 'team', 'model', 'channel', 'endpoint', 'outcome'] as const;

const filters = ({ from, to, key, team, model, channel, endpoint, outcome }: Values) => ({
  ...{ from, to, keyId: key, team, model, channel, endpoint, outcome },
});

const graceBody = ({ grace }: Values) => (grace === undefined ? {} : { graceSeconds: numberOrText(grace) });

/** The commands, by the words of the command line. */
export const COMMANDS: Readonly<Record<string, CommandRow>> = {
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
  usage: {
    argument: null,
    options: [...FILTERS, 'group-by'],
    method: 'GET',
    path: () => '/admin/v1/usage',
    query: (values) => ({ ...filters(values), groupBy: list(values['group-by'] ?? 'model').join(',') }),
    answer: 'page',
    text: texts.usageText,
  },
  'usage records': {
    argument: null,
    options: [...FILTERS, 'format'],
    method: 'GET',
    path: () => '/admin/v1/usage/records',
    query: (values) => ({ ...filters(values), format: values.format }),
    answer: 'stream',
    text: String,
  },
  'requests list': {
    argument: null,
    options: [...FILTERS, 'id', 'count'],
    method: 'GET',
    path: () => REQUESTS,
    query: (values) => ({ ...filters(values), id: values.id, limit: values.count }),
    answer: 'page',
    text: requestsText,
  },
  'requests show': {
    argument: 'ID',
    options: [],
    method: 'GET',
    path: at(REQUESTS),
    answer: 'value',
    text: requestText,
  },
  attention: {
    argument: null,
    options: [],
    method: 'GET',
    path: () => '/admin/v1/attention',
    answer: 'page',
    text: attentionText,
  },
  'webhooks list': {
    argument: null,
    options: ['key', 'status', 'count'],
    method: 'GET',
    path: () => WEBHOOKS,
    query: ({ key, status, count }) => ({ keyId: key, status, limit: count }),
    answer: 'page',
    text: texts.webhooksText,
  },
  'webhooks show': {
    argument: 'ID',
    options: [],
    method: 'GET',
    path: at(WEBHOOKS),
    answer: 'value',
    text: texts.webhookText,
  },
  'webhooks replay': {
    argument: 'ID',
    options: [],
    method: 'POST',
    path: (id) => `${at(WEBHOOKS)(id)}/replay`,
    answer: 'value',
    text: texts.replayedText,
  },
  channels: {
    argument: null,
    options: [],
    method: 'GET',
    path: () => CHANNELS,
    answer: 'page',
    text: channelsText,
  },
  'channels rest': {
    argument: 'NAME',
    options: ['account', 'model', 'seconds', 'reason'],
    method: 'POST',
    path: (name) => `${at(CHANNELS)(name)}/rest`,
    body: ({ account, model, seconds, reason }) => ({
      ...{ account, model, reason },
      ...(seconds === undefined ? {} : { seconds: numberOrText(seconds) }),
    }),
    answer: 'value',
    text: restedText,
  },
  'channels wake': {
    argument: 'NAME',
    options: ['account', 'model'],
    method: 'POST',
    path: (name) => `${at(CHANNELS)(name)}/wake`,
    body: ({ account, model }) => ({ account, model }),
    answer: 'value',
    text: wokenText,
  },
  'jobs list': {
    argument: null,
    options: ['status', 'count'],
    method: 'GET',
    path: () => JOBS,
    query: ({ status, count }) => ({ status, limit: count }),
    answer: 'page',
    text: texts.jobsText,
  },
  'jobs requeue': {
    argument: 'ID',
    options: [],
    method: 'POST',
    path: (id) => `${at(JOBS)(id)}/requeue`,
    answer: 'value',
    text: texts.requeuedText,
  },
  queues: {
    argument: null,
    options: [],
    method: 'GET',
    path: () => '/admin/v1/queues',
    answer: 'page',
    text: texts.queuesText,
  },
  audit: {
    argument: null,
    options: ['count'],
    method: 'GET',
    path: () => '/admin/v1/audit',
    query: ({ count }) => ({ limit: count }),
    answer: 'page',
    text: texts.auditText,
  },
};
