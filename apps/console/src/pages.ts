import {
  IconActivity,
  IconBell,
  IconBox,
  IconChartBar,
  IconFileSettings,
  IconFlask,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconStack2,
  IconUserCheck,
  IconUserShield,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { allows, type Call } from './api/permissions.ts';
import type { OwnSession } from './api/types.ts';

/** One page of the console, in the order of the navigation. */
export interface Page {
  /** Below `/console`. */
  readonly path: string;
  readonly label: string;
  readonly icon: ComponentType<{ size?: number; stroke?: number; 'aria-hidden'?: boolean }>;
  readonly group: 'Traffic' | 'Access' | 'Models' | 'Administration';
  /** What it is for, in the command palette. */
  readonly about: string;
  /** The calls that the page needs. Only roles that may make all of them see it. */
  readonly needs: readonly Call[];
  /** The page shows the one key of a key holder. */
  readonly isForOneKey?: true;
}

/** Every page behind the sign-in. A new one is a row here, one in the router, and a folder below `pages/` with a default export. */
export const PAGES = [
  {
    path: '/my-key',
    label: 'My key',
    icon: IconKey,
    group: 'Traffic',
    about: 'What remains of your limits and budget, and what was used',
    needs: ['GET /admin/v1/keys/{id}', 'GET /admin/v1/keys/{id}/balance'],
    isForOneKey: true,
  },
  {
    path: '/overview',
    label: 'Overview',
    icon: IconLayoutDashboard,
    group: 'Traffic',
    about: 'Requests, errors, spend and latency, and what needs attention',
    needs: ['GET /admin/v1/usage', 'GET /admin/v1/attention'],
  },
  {
    path: '/requests',
    label: 'Requests',
    icon: IconHistory,
    group: 'Traffic',
    about: 'What happened to each request: filtered, live, or by its ID',
    needs: ['GET /admin/v1/requests', 'GET /admin/v1/requests/tail'],
  },
  {
    path: '/usage',
    label: 'Usage',
    icon: IconChartBar,
    group: 'Traffic',
    about: 'Who used what; export as CSV or NDJSON',
    needs: ['GET /admin/v1/usage'],
  },
  {
    path: '/playground',
    label: 'Playground',
    icon: IconFlask,
    group: 'Traffic',
    about: 'Try models: text, images, speech, transcription; with code and raw events',
    needs: ['POST /admin/v1/playground'],
  },
  {
    path: '/keys',
    label: 'Keys',
    icon: IconKey,
    group: 'Access',
    about: 'Create, find, edit, rotate and revoke keys',
    needs: ['GET /admin/v1/keys', 'GET /admin/v1/teams'],
  },
  {
    path: '/teams',
    label: 'Teams',
    icon: IconUsersGroup,
    group: 'Access',
    about: 'Limits and budgets that keys share',
    needs: ['GET /admin/v1/teams'],
  },
  {
    path: '/people',
    label: 'People',
    icon: IconUsers,
    group: 'Access',
    about: 'Invite people, with a role and teams; reset passwords; disable',
    needs: ['GET /admin/v1/people'],
  },
  {
    path: '/roles',
    label: 'Roles',
    icon: IconUserShield,
    group: 'Access',
    about: 'Who may see and do what',
    needs: ['GET /admin/v1/roles', 'GET /admin/v1/teams'],
  },
  {
    path: '/channels',
    label: 'Channels',
    icon: IconActivity,
    group: 'Models',
    about: 'Which channels are serving or resting, and why',
    needs: ['GET /admin/v1/channels'],
  },
  {
    path: '/models',
    label: 'Models',
    icon: IconBox,
    group: 'Models',
    about: 'Routes, protocols and prices of every model',
    needs: ['GET /admin/v1/models'],
  },
  {
    path: '/jobs',
    label: 'Jobs',
    icon: IconStack2,
    group: 'Models',
    about: 'Queues, running and failed jobs; cancel and requeue',
    needs: ['GET /admin/v1/jobs'],
  },
  {
    path: '/webhooks',
    label: 'Webhooks',
    icon: IconWebhook,
    group: 'Models',
    about: 'What was sent when jobs ended; deliveries, and sending again',
    needs: ['GET /admin/v1/webhooks'],
  },
  {
    path: '/configuration',
    label: 'Configuration',
    icon: IconFileSettings,
    group: 'Administration',
    about: 'The loaded file, its last reload, and a check of your next change',
    needs: ['GET /admin/v1/configuration'],
  },
  {
    path: '/alerts',
    label: 'Alerts',
    icon: IconBell,
    group: 'Administration',
    about: 'Who is notified of what needs attention, and what was sent',
    needs: ['GET /admin/v1/alerts'],
  },
  {
    path: '/audit',
    label: 'Audit',
    icon: IconHistory,
    group: 'Administration',
    about: 'Who changed what, before and after',
    needs: ['GET /admin/v1/audit'],
  },
  {
    path: '/sessions',
    label: 'Sessions',
    icon: IconUserCheck,
    group: 'Administration',
    about: 'Who is signed in to this console',
    needs: ['GET /admin/v1/sessions'],
  },
] as const satisfies readonly Page[];

export type PagePath = (typeof PAGES)[number]['path'];

/** Whether a page is for this person. */
export const isFor = (session: OwnSession, { needs, isForOneKey }: Page): boolean =>
  needs.every((call) => allows(session, call)) && (isForOneKey !== true || session.keyId !== null);

/** The pages for this person. */
export const pagesFor = (session: OwnSession): readonly Page[] =>
  PAGES.filter((page) => isFor(session, page));
