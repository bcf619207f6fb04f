import { attentionText, requestsText, requestText } from '../texts/request-texts.ts';
import * as texts from '../texts/texts.ts';
import { at, type Commands } from './command-row.ts';
import { list, type Values } from './options.ts';

const REQUESTS = '/admin/v1/requests';

const FILTERS = ['from', 'to', 'key', 'team', 'model', 'channel', 'endpoint', 'outcome'] as const;

const filters = ({ from, to, key, team, model, channel, endpoint, outcome }: Values) => ({
  ...{ from, to, keyId: key, team, model, channel, endpoint, outcome },
});

/** What was sent and used, what needs a person, and who changed what. */
export const TRAFFIC_COMMANDS: Commands = {
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
