import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

/** The objects of a rendered chart, as far as tests look into them. */

const Labels = z.record(z.string(), z.string());
type Labels = z.infer<typeof Labels>;

const Variable = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({ secretKeyRef: z.object({ optional: z.boolean().default(false) }) })
    .transform(({ secretKeyRef }) => secretKeyRef)
    .optional(),
});
const Container = z.looseObject({
  name: z.string(),
  command: z.array(z.string()).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  env: z.array(Variable).default([]),
  securityContext: z.looseObject({}),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
});
export type Container = z.infer<typeof Container>;
const PodSpec = z.looseObject({
  automountServiceAccountToken: z.boolean().optional(),
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.looseObject({}),
  containers: z.tuple([Container]),
  volumes: z.array(z.looseObject({ name: z.string() })).default([]),
});
const metadata = z.looseObject({ name: z.string() });
const Deployment = z.looseObject({
  kind: z.literal('Deployment'),
  metadata,
  spec: z.looseObject({
    template: z.object({ metadata: z.looseObject({ labels: Labels }), spec: PodSpec }),
  }),
});
const Port = z.union([z.string(), z.number()]);
const NetworkPolicy = z.object({
  kind: z.literal('NetworkPolicy'),
  spec: z.looseObject({
    podSelector: z.object({ matchLabels: Labels }),
    ingress: z.array(
      z.object({
        from: z
          .array(z.looseObject({ podSelector: z.object({ matchLabels: Labels }).optional() }))
          .default([]),
        ports: z.array(z.object({ port: Port })),
      }),
    ),
  }),
});
const Service = z.object({
  kind: z.literal('Service'),
  metadata,
  spec: z.looseObject({
    clusterIP: z.string().optional(),
    selector: Labels,
    ports: z.array(z.looseObject({ port: z.number(), targetPort: Port.optional() })),
  }),
});
const ScaledObject = z.looseObject({
  kind: z.literal('ScaledObject'),
  spec: z.looseObject({
    triggers: z.array(z.object({ metadata: z.looseObject({ query: z.string() }) })),
  }),
});
const Other = z.looseObject({ apiVersion: z.string(), kind: z.string() });
const Known = z.discriminatedUnion('kind', [Deployment, NetworkPolicy, Service, ScaledObject]);
type Known = z.infer<typeof Known>;

/** A process of the gateway: its Deployment's pods, which have one container. */
export interface Process {
  readonly name: string;
  readonly labels: Labels;
  readonly pod: z.infer<typeof PodSpec>;
  readonly container: Container;
}

export interface Objects {
  readonly all: readonly z.infer<typeof Other>[];
  of<Kind extends Known['kind']>(kind: Kind): Extract<Known, { kind: Kind }>[];
  /** All Deployments, those of the demonstration too. */
  readonly pods: readonly Process[];
  readonly processes: ReadonlyMap<string, Process>;
}

/** What the demonstration has besides the gateway. */
const BESIDE = new Set(['redis', 'simulator']);
const isKind =
  <Kind extends Known['kind']>(kind: Kind) =>
  (object: Known): object is Extract<Known, { kind: Kind }> =>
    object.kind === kind;

export function readObjects(rendered: string): Objects {
  const documents = parseAllDocuments(rendered, { strict: true, uniqueKeys: true });
  const all = documents.flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const object: unknown = document.toJS();
    return object === null ? [] : [Other.parse(object)];
  });
  const kinds = new Set<string>(Known.options.map((option) => option.shape.kind.value));
  const known = all.filter(({ kind }) => kinds.has(kind)).map((object) => Known.parse(object));
  const pods = known.filter(isKind('Deployment')).map(({ spec: { template } }) => {
    const [container] = template.spec.containers;
    return { name: container.name, labels: template.metadata.labels, pod: template.spec, container };
  });
  const own = pods.filter(({ name }) => !BESIDE.has(name));
  return {
    all,
    of: (kind) => known.filter(isKind(kind)),
    pods,
    processes: new Map(own.map((process) => [process.name, process])),
  };
}

export const isSelected = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

export const portOf = ({ ports }: Container, port: string | number | undefined): number | undefined =>
  typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort;
