import type { ChannelSettings } from '../channel-settings.ts';

/** The values of placeholders. */
export type Words = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\{(\w+)\}/g;

/** With the values in place of `{name}`; what has none stays, such as `{model}`. */
export const filled = (text: string, words: Words): string =>
  text.replaceAll(PLACEHOLDER, (placeholder, name: string) => words[name] ?? placeholder);

/** The placeholders of a text that have no value. */
export const unfilled = (text: string, words: Words): readonly string[] =>
  [...text.matchAll(PLACEHOLDER)].flatMap(([, name = '']) => (words[name] === undefined ? [name] : []));

/** The channel's settings as values. */
export const wordsOf = ({ guardrail, ...settings }: ChannelSettings): Words => ({
  ...settings,
  guardrailId: guardrail?.id,
  guardrailVersion: guardrail?.version,
  guardrailTrace: guardrail?.trace?.toUpperCase(),
});

/** The domains of AWS' partitions, by how their regions begin. */
const AWS_DOMAINS = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['us-iso-', 'c2s.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
] as const;

export const awsDomain = ({ region = '' }: ChannelSettings): Words => ({
  domain: AWS_DOMAINS.find(([begin]) => region.startsWith(begin))?.[1] ?? 'amazonaws.com',
});

/** The locations of Vertex AI whose hosts have no region in front. */
const VERTEX_HOSTS: Words = {
  global: 'aiplatform.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
  eu: 'aiplatform.eu.rep.googleapis.com',
};

export const vertexHost = ({ location = '' }: ChannelSettings): Words => ({
  host: VERTEX_HOSTS[location] ?? `${location}-aiplatform.googleapis.com`,
});

/** Of a Foundry project, or of its resource. */
export const foundryPath = ({ project }: ChannelSettings): Words => ({
  openai: project === undefined ? '/openai/v1' : `/api/projects/${project}/openai/v1`,
});
