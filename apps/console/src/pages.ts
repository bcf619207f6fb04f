import {
  IconActivity,
  IconBox,
  IconChartBar,
  IconFileSettings,
  IconFlask,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconStack2,
  IconUserCheck,
  IconUsersGroup,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';
import type { Role } from './api/types.ts';

/** One page of the console, in the order of the navigation. */
export interface Page {
  /** Below `/console`. */
  readonly path: string;
  readonly label: string;
  readonly icon: ComponentType<{ size?: number; stroke?: number; 'aria-hidden'?: boolean }>;
  readonly group: 'Traffic' | 'Access' | 'Models' | 'Administration';
  /** What it is for, in the command palette. */
  readonly about: string;
  /** Who sees it; absent: whoever is signed in. */
  readonly roles?: readonly Role[];
  /** Loaded when it is opened for the first time. */
  readonly load: () => Promise<{ default: ComponentType }>;
}

/** Every page behind the sign-in. A new one is a row here and a folder below `pages/` with a default export. */
export const PAGES: readonly Page[] = [
  {
    path: '/overview',
    label: 'Overview',
    icon: IconLayoutDashboard,
    group: 'Traffic',
    about: 'Requests, errors, spend and latency, and what needs a person now',
    load: () => import('./pages/overview/overview-page.tsx'),
  },
  {
    path: '/requests',
    label: 'Requests',
    icon: IconHistory,
    group: 'Traffic',
    about: 'What became of each request, as it ends and by its id',
    load: () => import('./pages/requests/requests-page.tsx'),
  },
  {
    path: '/usage',
    label: 'Usage',
    icon: IconChartBar,
    group: 'Traffic',
    about: 'What was used, by whom and of what; CSV and NDJSON',
    load: () => import('./pages/usage/usage-page.tsx'),
  },
  {
    path: '/playground',
    label: 'Playground',
    icon: IconFlask,
    group: 'Traffic',
    about: 'Try models: text, images, speech, transcription; with code and raw events',
    roles: ['admin'],
    load: () => import('./pages/playground/playground-page.tsx'),
  },
  {
    path: '/keys',
    label: 'Keys',
    icon: IconKey,
    group: 'Access',
    about: 'Make, find, change, rotate and revoke keys',
    load: () => import('./pages/keys/keys-page.tsx'),
  },
  {
    path: '/teams',
    label: 'Teams',
    icon: IconUsersGroup,
    group: 'Access',
    about: 'Limits and budgets that keys share',
    load: () => import('./pages/teams/teams-page.tsx'),
  },
  {
    path: '/channels',
    label: 'Channels',
    icon: IconActivity,
    group: 'Models',
    about: 'What serves, what rests, and why',
    load: () => import('./pages/channels/channels-page.tsx'),
  },
  {
    path: '/models',
    label: 'Models',
    icon: IconBox,
    group: 'Models',
    about: 'Routes, protocols and prices of every model',
    load: () => import('./pages/models/models-page.tsx'),
  },
  {
    path: '/jobs',
    label: 'Jobs',
    icon: IconStack2,
    group: 'Models',
    about: 'Queues, what runs and what failed; cancel, queue again',
    load: () => import('./pages/jobs/jobs-page.tsx'),
  },
  {
    path: '/configuration',
    label: 'Configuration',
    icon: IconFileSettings,
    group: 'Administration',
    about: 'What is loaded, the last reload, a check of the next change',
    load: () => import('./pages/configuration/configuration-page.tsx'),
  },
  {
    path: '/audit',
    label: 'Audit',
    icon: IconHistory,
    group: 'Administration',
    about: 'Who changed what, before and after',
    load: () => import('./pages/audit/audit-page.tsx'),
  },
  {
    path: '/sessions',
    label: 'Sessions',
    icon: IconUserCheck,
    group: 'Administration',
    about: 'Who is signed in to this console',
    load: () => import('./pages/sessions/sessions-page.tsx'),
  },
];

/** The pages that a role sees. The admin service refuses the others' calls anyway. */
export const pagesOf = (role: Role): readonly Page[] =>
  PAGES.filter(({ roles }) => roles === undefined || roles.includes(role));
