import {
  AppShell,
  Burger,
  Button,
  Group,
  Kbd,
  NavLink,
  ScrollArea,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { IconBook, IconSearch } from '@tabler/icons-react';
import { useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { BASE_PATH } from '../api/base-path.ts';
import { sessionQuery } from '../api/queries.ts';
import { PAGES, pagesFor } from '../pages.ts';
import { useTimeZone } from '../parts/time-zone.ts';
import { Logo } from './logo.tsx';
import { PersonMenu } from './person-menu.tsx';
import { SessionEnded } from './session-ended.tsx';
import classes from './shell.module.css';

const CommandPalette = lazy(() => import('./command-palette.tsx'));

/** What is around every page: navigation, the command palette, who is signed in. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const [paletteCalls, setPaletteCalls] = useState(0);
  const openPalette = () => setPaletteCalls((calls) => calls + 1);
  useHotkeys([
    ['mod+K', openPalette],
    ['/', openPalette],
  ]);
  const { data: session } = useSuspenseQuery(sessionQuery);
  const { pathname } = useLocation();
  const zone = useTimeZone();
  const current = PAGES.find(({ path }) => pathname.startsWith(path));
  useEffect(close, [pathname]);
  useEffect(() => {
    document.title = current === undefined ? 'Gateway console' : `${current.label} · Gateway`;
  }, [current]);

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', md: 'lg' }}
    >
      <a href="#page" className={classes.skip}>
        Skip to content
      </a>
      <AppShell.Header className={classes.header}>
        <Group gap="sm" wrap="nowrap">
          <Burger
            opened={isOpen}
            onClick={toggle}
            hiddenFrom="sm"
            size="sm"
            aria-label={isOpen ? 'Close the navigation' : 'Open the navigation'}
          />
          <UnstyledButton component={Link} to="/" aria-label="Gateway home">
            <Logo />
          </UnstyledButton>
        </Group>
        <Group gap="xs" wrap="nowrap">
          <Button
            variant="default"
            color="gray"
            size="xs"
            onClick={openPalette}
            leftSection={<IconSearch size={15} aria-hidden />}
            rightSection={<Kbd size="xs">Ctrl K</Kbd>}
            visibleFrom="sm"
          >
            Search
          </Button>
          <Button
            variant="default"
            size="xs"
            px={8}
            onClick={openPalette}
            hiddenFrom="sm"
            aria-label="Search"
          >
            <IconSearch size={16} aria-hidden />
          </Button>
          <Button
            component="a"
            href={`${BASE_PATH}/docs/`}
            target="_blank"
            rel="noreferrer"
            variant="default"
            size="xs"
            px={8}
            aria-label="Documentation"
            title="Documentation"
          >
            <IconBook size={16} aria-hidden />
          </Button>
          <PersonMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label="Pages">
        <ScrollArea p="xs" type="auto">
          {[...Map.groupBy(pagesFor(session), ({ group }) => group)].map(([group, pages]) => (
            <div key={group} className={classes.group}>
              <Text size="xs" fw={600} c="dimmed" px="sm" pb={4}>
                {group}
              </Text>
              {pages.map(({ path, label, icon: Icon }) => (
                <NavLink
                  key={path}
                  component={Link}
                  to={path}
                  label={label}
                  active={path === current?.path}
                  leftSection={<Icon size={18} stroke={1.7} aria-hidden />}
                  className={classes.link}
                  {...(path === current?.path && { 'aria-current': 'page' as const })}
                />
              ))}
            </div>
          ))}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1} className={classes.main}>
        {/* Every time on a page changes with the zone. */}
        <Outlet key={zone} />
      </AppShell.Main>
      <SessionEnded />
      {paletteCalls > 0 && (
        <Suspense>
          <CommandPalette calls={paletteCalls} />
        </Suspense>
      )}
    </AppShell>
  );
}
