const HEAD =
  '# Written by `npm run monitoring` from deploy/helm/gateway/files/rules.yaml, where each alarm is to be changed. docs/operations.md has every metric.\n';

/** The chart's rules for a Prometheus that watches one gateway: without the namespace that the chart fills in. */
export const alertsOf = (rules: string): string =>
  HEAD + rules.replaceAll(/namespace="NAMESPACE",?/g, '').replaceAll('{}', '');
