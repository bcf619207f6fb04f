/** What each limit bounds, as forms explain it. */
export interface LimitField {
  readonly name:
    | 'requestsPerMinute'
    | 'tokensPerMinute'
    | 'imagesPerMinute'
    | 'audioSecondsPerMinute'
    | 'concurrentRequests';
  readonly label: string;
  readonly about: string;
}

/** Limits that keys and teams have alike. */
export const LIMITS: readonly LimitField[] = [
  {
    name: 'requestsPerMinute',
    label: 'Requests per minute',
    about: 'Requests that may begin within a minute. A key that was idle may send all of them at once.',
  },
  {
    name: 'tokensPerMinute',
    label: 'Tokens per minute',
    about:
      'Input and output together. What a request can use at most is taken before it is sent; what it did not use is given back.',
  },
  {
    name: 'imagesPerMinute',
    label: 'Images per minute',
    about: 'Images that may be asked for, counted when the request comes.',
  },
  {
    name: 'audioSecondsPerMinute',
    label: 'Seconds of audio per minute',
    about: 'The length of recordings to transcribe.',
  },
  {
    name: 'concurrentRequests',
    label: 'Requests at the same time',
    about: 'Requests in flight, streams included. One more is refused until one of them ends.',
  },
];

type JobLimitName = 'concurrentJobs' | 'jobWeight' | 'jobPriority' | 'keptResultBytes';

/** What only keys have: how their jobs share the workers with those of other keys. */
export const JOB_LIMITS: readonly {
  name: JobLimitName;
  label: string;
  about: string;
  min: number;
  max?: number;
}[] = [
  {
    name: 'concurrentJobs',
    label: 'Jobs at the same time',
    about: 'Images and transcripts that workers make for this key at once; others wait in the queue.',
    min: 1,
  },
  {
    name: 'jobWeight',
    label: 'Job weight',
    about: 'Turns that this key gets for one turn of a key without a weight.',
    min: 1,
    max: 100,
  },
  {
    name: 'jobPriority',
    label: 'Job priority',
    about: 'Jobs of a lower number go first, 0 before all others. Without one: 5.',
    min: 0,
    max: 9,
  },
  {
    name: 'keptResultBytes',
    label: 'Bytes of kept results',
    about: 'How much of results is kept for this key until they expire.',
    min: 1,
  },
];

export const PERIODS = [
  { value: 'day', label: 'each day' },
  { value: 'week', label: 'each week' },
  { value: 'month', label: 'each month' },
  { value: 'total', label: 'in total' },
] as const;
export type Period = (typeof PERIODS)[number]['value'];

const LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  [...LIMITS, ...JOB_LIMITS].map(({ name, label }) => [name, label]),
);

export const limitLabel = (name: string): string => LABELS[name] ?? name;

export const periodLabel = (period: string): string =>
  PERIODS.find(({ value }) => value === period)?.label ?? period;
