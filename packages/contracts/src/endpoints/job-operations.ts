import { z } from 'zod';
import { MessageBatch, MessageBatchListQuery } from '../anthropic/message-batches.ts';
import { BatchResultLine } from '../batch.ts';
import { JobListQuery, PublicJob, PublicJobList } from '../jobs.ts';
import { BatchListQuery, BatchObject } from '../openai/batches.ts';
import { FileListQuery, FileObject } from '../openai/files.ts';
import { JobWebhook, WEBHOOK_HEADER } from '../webhooks.ts';
import { type Endpoint, mayWaitForJob } from './endpoints.ts';

type Json = Record<string, unknown>;

/** The part of an operation in `/openapi.json` that not every operation has. */
interface JobOperation {
  readonly parameters: readonly Json[];
  readonly responses: Json;
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest }: Json = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  return rest;
}

/** The schemas that the operations below refer to. */
export const JOB_SCHEMAS: Readonly<Record<string, Json>> = {
  Job: schemaOf(PublicJob),
  JobList: schemaOf(PublicJobList),
  JobWebhook: schemaOf(JobWebhook),
  BatchResultLine: schemaOf(BatchResultLine),
  File: schemaOf(FileObject),
  Batch: schemaOf(BatchObject),
  MessageBatch: schemaOf(MessageBatch),
};

const json = (description: string, name: string): Json => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
});

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});

/** What the gateway sends by itself. */
export const JOB_WEBHOOKS: Json = {
  'job-ended': {
    post: {
      summary: 'A job has ended; signed as Standard Webhooks specifies',
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        ...header(name, 'As Standard Webhooks has it.'),
        required: true,
      })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/JobWebhook' } } },
      },
      responses: { '2XX': { description: 'Accepted. Anything else is retried for a day.' } },
    },
  },
};

/** Of the endpoints whose work may be a job. */
const MAKES_JOBS: JobOperation = {
  parameters: [
    header('Prefer', "'respond-async' answers 202 with a job at once; 'wait=N' waits up to N seconds first."),
    header(
      'Idempotency-Key',
      'For 24 hours, the same request joins the first one or gets its stored result.',
    ),
    header(WEBHOOK_HEADER, "The URL to which the job's end is reported; signed by the key's webhook secret."),
  ],
  responses: {
    202: {
      ...json('The job, where the Prefer header asks for one.', 'Job'),
      headers: {
        Location: { schema: { type: 'string' } },
        'Preference-Applied': { schema: { type: 'string' } },
      },
    },
  },
};

const listParameters = (query: z.ZodType): Json[] => {
  const { properties } = schemaOf(query);
  const known = z.record(z.string(), z.unknown()).catch({}).parse(properties);
  return Object.entries(known).map(([name, schema]) => ({ name, in: 'query', required: false, schema }));
};

/** By `METHOD` and what follows `/v1/{area}/jobs`. */
const OF_JOBS: ReadonlyMap<string, JobOperation> = new Map<string, JobOperation>([
  [
    'POST ',
    {
      parameters: MAKES_JOBS.parameters.filter(({ name }) => name !== 'Prefer'),
      responses: { 202: json('The job that stands for all of them.', 'Job') },
    },
  ],
  [
    'GET ',
    { parameters: listParameters(JobListQuery), responses: { 200: json('A page of jobs.', 'JobList') } },
  ],
  ['GET /{id}', { parameters: [], responses: { 200: json('The job.', 'Job') } }],
  [
    'DELETE /{id}',
    { parameters: [], responses: { 200: json('The job, cancelled or without its result.', 'Job') } },
  ],
  [
    'GET /{id}/result',
    {
      parameters: [],
      responses: {
        200: {
          description:
            'Status, content type and body as waiting would have given; of a batch, one JSON object on each line.',
          content: { 'application/jsonl': { schema: { $ref: '#/components/schemas/BatchResultLine' } } },
        },
      },
    },
  ],
  [
    'GET /{id}/events',
    {
      parameters: [header('Last-Event-ID', 'Continues after this event.')],
      responses: {
        200: { description: 'Events until the job has ended.', content: { 'text/event-stream': {} } },
        204: { description: 'All events up to the end have been sent.' },
      },
    },
  ],
]);

const replyWith = (description: string, name: string, parameters: readonly Json[] = []): JobOperation => ({
  parameters,
  responses: { 200: json(description, name) },
});

const pageOf = (description: string, name: string, query: z.ZodType): JobOperation => ({
  parameters: listParameters(query),
  responses: {
    200: {
      description,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: {
              object: { const: 'list' },
              data: { type: 'array', items: { $ref: `#/components/schemas/${name}` } },
              first_id: { type: ['string', 'null'] },
              last_id: { type: ['string', 'null'] },
              has_more: { type: 'boolean' },
            },
          },
        },
      },
    },
  },
});

/** Files, and batches of text requests, by `METHOD path`. */
const OF_BATCHES: ReadonlyMap<string, JobOperation> = new Map([
  ['POST /v1/files', replyWith('The file.', 'File')],
  ['GET /v1/files', pageOf('A page of files.', 'File', FileListQuery)],
  ['GET /v1/files/{id}', replyWith('The file.', 'File')],
  [
    'GET /v1/files/{id}/content',
    {
      parameters: [],
      responses: { 200: { description: 'Its bytes.', content: { 'application/jsonl': {} } } },
    },
  ],
  [
    'POST /v1/batches',
    replyWith(
      'The batch.',
      'Batch',
      MAKES_JOBS.parameters.filter(({ name }) => name !== 'Prefer'),
    ),
  ],
  ['GET /v1/batches', pageOf('A page of batches.', 'Batch', BatchListQuery)],
  ['POST /v1/messages/batches', replyWith('The batch.', 'MessageBatch')],
  ['GET /v1/messages/batches', pageOf('A page of batches.', 'MessageBatch', MessageBatchListQuery)],
  ['GET /v1/messages/batches/{id}', replyWith('The batch.', 'MessageBatch')],
  [
    'POST /v1/messages/batches/{id}/cancel',
    replyWith('The batch, which begins no more requests.', 'MessageBatch'),
  ],
  [
    'GET /v1/messages/batches/{id}/results',
    {
      parameters: [],
      responses: {
        200: { description: 'One JSON object on each line.', content: { 'application/x-jsonl': {} } },
      },
    },
  ],
  ['GET /v1/batches/{id}', replyWith('The batch.', 'Batch')],
  ['POST /v1/batches/{id}/cancel', replyWith('The batch, which begins no more lines.', 'Batch')],
]);

const JOBS_PATH = /^\/v1\/(?:images|audio)\/jobs(.*)$/;

export function jobOperation(endpoint: Endpoint): JobOperation | undefined {
  const [, rest] = JOBS_PATH.exec(endpoint.path) ?? [];
  if (rest !== undefined) return OF_JOBS.get(`${endpoint.method} ${rest}`);
  return mayWaitForJob(endpoint) ? MAKES_JOBS : OF_BATCHES.get(`${endpoint.method} ${endpoint.path}`);
}
