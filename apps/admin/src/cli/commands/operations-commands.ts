import { channelsText, restedText, testedText, wokenText } from '../texts/channel-texts.ts';
import { jobText } from '../texts/request-texts.ts';
import * as texts from '../texts/texts.ts';
import { at, type Commands } from './command-row.ts';
import { numberOrText } from './options.ts';

const WEBHOOKS = '/admin/v1/webhooks';
const JOBS = '/admin/v1/jobs';
const CHANNELS = '/admin/v1/channels';

/** Channels, queues, jobs and webhooks. */
export const OPERATIONS_COMMANDS: Commands = {
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
  'channels test': {
    argument: 'NAME',
    options: ['key', 'model'],
    method: 'POST',
    path: (name) => `${at(CHANNELS)(name)}/test`,
    body: ({ key, model }) => ({ keyId: key, model }),
    answer: 'value',
    text: testedText,
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
  'jobs show': {
    argument: 'ID',
    options: [],
    method: 'GET',
    path: at(JOBS),
    answer: 'value',
    text: jobText,
  },
  'jobs cancel': {
    argument: 'ID',
    options: [],
    method: 'POST',
    path: (id) => `${at(JOBS)(id)}/cancel`,
    answer: 'value',
    text: jobText,
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
};
