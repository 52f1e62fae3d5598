#!/usr/bin/env node
// A member's browser: allows the access that a client asks for, and goes back to the client, which may not listen yet.
//
// Usage: BROWSER=browser.mjs

import { setTimeout } from 'node:timers/promises';
import { Member } from '../../clients/member.js';

const redirect = await new Member().allow(process.argv[2]);
for (let attempt = 0; ; attempt += 1) {
  try {
    await fetch(redirect);
    break;
  } catch (error) {
    if (attempt === 100) {
      throw error;
    }
    await setTimeout(100);
  }
}
