import { Center, Loader, Stack, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import * as z from 'zod/mini';
import { PageFailed } from '../../parts/page-failed.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { usePageSearch } from '../../parts/page-search.ts';
import { configurationQuery } from './configuration-query.ts';
import { ReloadState } from './reload-state.tsx';

const VIEWS = ['loaded', 'check'] as const;

const Search = z.object({ view: z.catch(z.optional(z.enum(VIEWS)), undefined) });

/** The editor is as large as all the rest of the console: only who comes here loads it. */
const LoadedConfiguration = lazy(() => import('./loaded-configuration.tsx'));
const CheckConfiguration = lazy(() => import('./check-configuration.tsx'));

/** What the gateway is configured to do, whether its last change took effect, and a check of the next one. */
export default function ConfigurationPage() {
  const [{ view = 'loaded' }, change] = usePageSearch(Search);
  const { data: configuration, error, refetch } = useQuery(configurationQuery);
  return (
    <Stack gap="md">
      <PageHeader
        title="Configuration"
        about="What the gateway is to do, and a check of what it is to do next."
      />
      {error && <PageFailed error={error} reset={() => void refetch()} />}
      {configuration && <ReloadState of={configuration} />}
      <Tabs
        value={view}
        onChange={(chosen) => change({ view: chosen === 'check' ? 'check' : undefined })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="loaded">As loaded</Tabs.Tab>
          <Tabs.Tab value="check">Check a change</Tabs.Tab>
        </Tabs.List>
        <Suspense fallback={<Loading />}>
          <Tabs.Panel value="loaded">
            {configuration && <LoadedConfiguration of={configuration} />}
          </Tabs.Panel>
          <Tabs.Panel value="check">
            <CheckConfiguration
              loaded={configuration?.text ?? null}
              path={configuration?.path ?? 'gateway.yaml'}
            />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </Stack>
  );
}

const Loading = () => (
  <Center h={320}>
    <Loader aria-label="Loading the editor" />
  </Center>
);
