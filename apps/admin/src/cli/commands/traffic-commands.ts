import { z } from 'zod';
import { detailsOf, listOf, type Row, usdText } from '../texts/table.ts';
import { AUDIT_COLUMNS, attentionText, totalMsOf, usageText } from '../texts/traffic-texts.ts';
import type { Commands } from './command-row.ts';
import { list, type Values } from './options.ts';

const FILTERS = [
  'from',
  'to',
  'time-zone',
  'key',
  'team',
  'model',
  'channel',
  'endpoint',
  'outcome',
  'error-code',
  'failed',
  'end-user',
  'session',
  'label',
  'owner',
] as const;

const filters = ({ from, to, 'time-zone': timeZone, key, ...values }: Values) => ({
  ...{ from, to, timeZone, keyId: key, team: values.team, model: values.model },
  ...{ channel: values.channel, endpoint: values.endpoint, outcome: values.outcome },
  ...{
    endUser: values['end-user'],
    session: values.session,
    label: values.label?.at(0),
    owner: values.owner,
  },
  ...{ errorCode: values['error-code'], ...(values.failed && { failed: 'true' }) },
});

const COST = ({ costMicroUsd }: Row) => usdText(costMicroUsd);

const Erased = z.object({ deleted: z.number() });

/** What was sent and used, what needs a person, and who changed what. */
export const TRAFFIC_COMMANDS: Commands = {
  usage: {
    path: '/admin/v1/usage',
    options: [...FILTERS, 'group-by'],
    query: (values) => ({ ...filters(values), groupBy: list(values['group-by'] ?? 'model').join(',') }),
    answer: 'page',
    text: usageText,
  },
  'usage records': {
    path: '/admin/v1/usage/records',
    options: [...FILTERS, 'format'],
    query: (values) => ({ ...filters(values), format: values.format }),
    answer: 'stream',
    text: String,
  },
  'requests list': {
    path: '/admin/v1/requests',
    options: [...FILTERS, 'id', 'count'],
    query: (values) => ({ ...filters(values), id: values.id, limit: values.count }),
    answer: 'page',
    text: listOf(
      {
        STARTED: 'startedAt',
        REQUEST: ({ requestId, id }) => requestId ?? id,
        KEY: 'keyId',
        MODEL: 'model',
        CHANNEL: 'channel',
        OUTCOME: ({ errorCode, outcome }) => errorCode ?? outcome,
        MS: totalMsOf,
        COST,
      },
      'No matching requests.',
    ),
  },
  'requests show': {
    path: '/admin/v1/requests/{ID}',
    text: detailsOf({
      attemptList: {
        CHANNEL: 'channel',
        ACCOUNT: 'account',
        OUTCOME: 'outcome',
        STATUS: 'status',
        MS: 'ms',
      },
      cost: {
        USED: 'kind',
        AMOUNT: 'amount',
        PRICE: ({ unitUsd, unit }) => `$${unitUsd} for ${unit}`,
        COST: ({ microUsd }) => usdText(microUsd),
      },
    }),
  },
  'content delete': {
    path: '/admin/v1/content',
    method: 'DELETE',
    options: ['key', 'end-user'],
    query: (values) => ({ keyId: values.key, endUser: values['end-user'] }),
    answer: 'parts',
    text: (answer) => {
      const { deleted } = Erased.parse(answer);
      return `Deleted the content of ${deleted} ${deleted === 1 ? 'request' : 'requests'}.`;
    },
  },
  attention: { path: '/admin/v1/attention', answer: 'page', text: attentionText },
  audit: {
    path: '/admin/v1/audit',
    options: ['count'],
    query: ({ count }) => ({ limit: count }),
    answer: 'page',
    text: listOf(AUDIT_COLUMNS, 'No changes yet.'),
  },
};
