import { channelsText, restedText, testedText } from '../texts/channel-texts.ts';
import { detailsOf, listOf, type Row, Rows, sentenceOf } from '../texts/table.ts';
import type { Commands } from './command-row.ts';
import { numberOrText } from './options.ts';

const WEBHOOKS = '/admin/v1/webhooks';
const WEBHOOK = `${WEBHOOKS}/{ID}`;
const JOB = '/admin/v1/jobs/{ID}';
const CHANNEL = '/admin/v1/channels/{NAME}';

const attemptsOf = ({ attempts }: Row) => Rows.parse(attempts);
const jobText = detailsOf({ history: { WHEN: 'at', EVENT: 'event', DETAIL: 'detail' } });

/** Channels, queues, jobs and webhooks. */
export const OPERATIONS_COMMANDS: Commands = {
  'webhooks list': {
    path: WEBHOOKS,
    options: ['key', 'status', 'count'],
    query: ({ key, status, count }) => ({ keyId: key, status, limit: count }),
    answer: 'page',
    text: listOf(
      {
        ID: 'id',
        KEY: 'keyId',
        CREATED: 'createdAt',
        STATUS: 'status',
        ATTEMPTS: (webhook) => attemptsOf(webhook).length,
        NEXT: 'nextAttemptAt',
        'LAST ERROR': (webhook) => attemptsOf(webhook).at(-1)?.error,
      },
      'No matching webhooks.',
    ),
  },
  'webhooks show': {
    path: WEBHOOK,
    text: detailsOf(
      {
        attempts: {
          AT: 'at',
          STATUS: 'status',
          TIME: ({ durationMs }) => `${durationMs} ms`,
          ERROR: 'error',
        },
      },
      'No attempts yet.',
    ),
  },
  'webhooks replay': {
    method: 'POST',
    path: `${WEBHOOK}/replay`,
    text: sentenceOf(
      ({ id }) => `Webhook ${id} will be sent again. To follow it: npm run gateway -- webhooks show ${id}`,
    ),
  },
  channels: { path: '/admin/v1/channels', answer: 'page', text: channelsText },
  'channels rest': {
    method: 'POST',
    path: `${CHANNEL}/rest`,
    options: ['account', 'model', 'seconds', 'reason'],
    body: ({ account, model, seconds, reason }) => ({
      ...{ account, model, reason },
      ...(seconds === undefined ? {} : { seconds: numberOrText(seconds) }),
    }),
    text: restedText,
  },
  'channels test': {
    method: 'POST',
    path: `${CHANNEL}/test`,
    options: ['key', 'model'],
    body: ({ key, model }) => ({ keyId: key, model }),
    text: testedText,
  },
  'channels wake': {
    method: 'POST',
    path: `${CHANNEL}/wake`,
    options: ['account', 'model'],
    body: ({ account, model }) => ({ account, model }),
    text: restedText,
  },
  'jobs list': {
    path: '/admin/v1/jobs',
    options: ['status', 'count'],
    query: ({ status, count }) => ({ status, limit: count }),
    answer: 'page',
    text: listOf(
      {
        ID: 'id',
        KIND: 'kind',
        STATUS: 'status',
        MODEL: 'model',
        KEY: 'keyId',
        CREATED: 'createdAt',
        ATTEMPTS: 'attempts',
        ERROR: 'errorCode',
        REQUEUE: ({ canRequeue }) => (canRequeue === true ? 'yes' : 'no'),
      },
      'No matching jobs.',
    ),
  },
  'jobs show': { path: JOB, text: jobText },
  'jobs cancel': { method: 'POST', path: `${JOB}/cancel`, text: jobText },
  'jobs requeue': {
    method: 'POST',
    path: `${JOB}/requeue`,
    text: sentenceOf(({ id, kind, model }) => `Requeued job ${id} (${kind}, ${model}).`),
  },
  queues: {
    path: '/admin/v1/queues',
    answer: 'page',
    text: listOf(
      {
        QUEUE: 'queue',
        QUEUED: 'queued',
        'IN PROGRESS': 'inProgress',
        DELAYED: 'delayed',
        FAILED: 'failed',
        COMPLETED: 'completed',
        'WAITING SINCE': 'oldestQueuedAt',
      },
      'No queues.',
    ),
  },
};
