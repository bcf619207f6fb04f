/** A part of the menu: the Markdown files of its pages, from the root of the repository. */
export interface MenuPart {
  readonly title: string;
  readonly pages: readonly string[];
}

/**
 * The site's menu, and with it all of its pages. A page that is added to `docs/` is named here once; the build names those that are not.
 * Decisions and the two references are listed by the build.
 */
export const MENU: readonly MenuPart[] = [
  {
    title: 'First steps',
    pages: [
      'docs/README.md',
      'docs/try-each-endpoint.md',
      'docs/comparison.md',
      'docs/moving-from-litellm.md',
      'docs/coding-agents.md',
      'docs/local-models.md',
    ],
  },
  {
    title: 'Set it up',
    pages: [
      'docs/configuration.md',
      'docs/clouds/README.md',
      'docs/clouds/aws.md',
      'docs/clouds/google.md',
      'docs/clouds/microsoft.md',
      'docs/limits-and-budgets.md',
      'docs/costs.md',
      'docs/hooks.md',
      'docs/content-log.md',
      'docs/telemetry.md',
      'docs/alerts.md',
    ],
  },
  { title: 'Call it', pages: ['docs/api.md', 'docs/translation.md'] },
  {
    title: 'Run it',
    pages: [
      'docs/production.md',
      'docs/what-happens-when.md',
      'docs/operations.md',
      'docs/kubernetes.md',
      'docs/redis.md',
      'docs/scale.md',
      'docs/console.md',
      'docs/admin-api.md',
      'SECURITY.md',
    ],
  },
  {
    title: 'How it works',
    pages: ['docs/architecture.md', 'docs/a-request.md', 'docs/glossary.md', 'CONTRIBUTING.md'],
  },
];

/** What changed, by version: its newest heading is the version that the site describes. */
export const CHANGELOG = 'CHANGELOG.md';
/** A page for each file of this folder. */
export const DECISIONS = 'docs/decisions';
