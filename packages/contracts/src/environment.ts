/** Variables of a process, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Such as `TEXT_PORT=tcp://10.43.0.7:8081`, which Kubernetes sets in every pod beside a Service called `text`. */
const isServiceLink = (name: string, value: string): boolean =>
  name.endsWith('PORT') && /^(tcp|udp|sctp):\/\/[^/\s]+:\d+$/i.test(value);

/** The variables that Kubernetes has set for Services: none of them is a setting. */
export const serviceLinksIn = (env: Environment): string[] =>
  Object.entries(env).flatMap(([name, value]) => (isServiceLink(name, value?.trim() ?? '') ? [name] : []));

/**
 * A process's environment as the gateway reads it: without white space around values, since a secret that was made from a file
 * often ends with a line break, and without variables for Services of Kubernetes.
 */
export function ownEnvironment(env: Environment): Record<string, string | undefined> {
  const own = Object.entries(env).map(([name, value]) => [name, value?.trim()] as const);
  return Object.fromEntries(
    own.filter(([name, value]) => value === undefined || !isServiceLink(name, value)),
  );
}
