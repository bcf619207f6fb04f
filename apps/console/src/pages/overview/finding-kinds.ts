import {
  IconArrowsSplit,
  IconClockExclamation,
  IconCoin,
  IconDatabaseOff,
  IconFileAlert,
  IconHourglass,
  IconKey,
  IconMoon,
  IconPlugConnectedX,
  IconTag,
  IconTrendingDown,
} from '@tabler/icons-react';
import type { Finding } from '../../api/types.ts';

interface Kind {
  /** Of rules and lists. */
  readonly label: string;
  readonly icon: typeof IconCoin;
  /** Where a person can read more about it. */
  readonly link?: (finding: Finding) => { label: string; to: string; search?: object };
}

const budget: Kind['link'] = ({ subject, about }) =>
  about.keyId === null
    ? { label: 'Team', to: '/teams', search: { team: subject } }
    : { label: 'Key', to: '/keys', search: { key: about.keyId } };
const channels: Kind['link'] = () => ({ label: 'Channels', to: '/channels' });
const RANGE = { range: '15m' } as const;

/** How each kind of finding is shown. */
export const KINDS: Readonly<Record<Finding['kind'], Kind>> = {
  redis_away: { label: 'Redis unavailable', icon: IconDatabaseOff },
  source_unreadable: { label: 'Attention list incomplete', icon: IconDatabaseOff },
  usage_waiting: { label: 'Usage not written to the database', icon: IconDatabaseOff },
  usage_spooled: { label: 'Usage waiting on disk', icon: IconDatabaseOff },
  configuration_invalid: {
    label: 'Invalid configuration',
    icon: IconFileAlert,
    link: () => ({ label: 'Configuration', to: '/configuration' }),
  },
  model_failing: {
    label: 'Model failing',
    icon: IconTrendingDown,
    link: ({ subject }) => ({
      label: 'Failed requests',
      to: '/requests',
      search: { ...RANGE, model: subject, failed: true },
    }),
  },
  model_slow: {
    label: 'Model slow',
    icon: IconClockExclamation,
    link: ({
      subject,
      about: {
        channels: [channel],
      },
    }) => ({
      label: 'Requests',
      to: '/requests',
      search: { ...RANGE, model: subject, channel },
    }),
  },
  model_routes: { label: 'Model with one channel left, or none', icon: IconArrowsSplit, link: channels },
  channel_failing: {
    label: 'Channel failing',
    icon: IconTrendingDown,
    link: ({ subject }) => ({
      label: 'Requests',
      to: '/requests',
      search: { range: '1h', attemptChannel: subject },
    }),
  },
  channel_resting: { label: 'Channel resting', icon: IconMoon, link: channels },
  credentials_refused: { label: 'Credentials refused', icon: IconPlugConnectedX, link: channels },
  credentials_expiring: { label: 'Credentials expiring', icon: IconPlugConnectedX, link: channels },
  key_expiring: {
    label: 'Key expiring',
    icon: IconKey,
    link: ({ subject }) => ({ label: 'Key', to: '/keys', search: { key: subject } }),
  },
  budget_near: { label: 'Budget nearly spent', icon: IconCoin, link: budget },
  budget_spent: { label: 'Budget spent', icon: IconCoin, link: budget },
  queue_waiting: {
    label: 'Jobs waiting',
    icon: IconHourglass,
    link: () => ({ label: 'Jobs', to: '/jobs' }),
  },
  unpriced_model: {
    label: 'Model without a price',
    icon: IconTag,
    link: ({ subject }) => ({ label: 'Requests', to: '/requests', search: { model: subject } }),
  },
};
