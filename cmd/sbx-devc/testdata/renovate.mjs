// Makes the updates that a report of Renovate proposes, with Renovate's own
// code: node renovate.mjs RENOVATE REPORT FOLDER
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [renovate, report, folder] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(renovate, "dist", file)));
const { GlobalConfig } = await load("config/global.js");
const { doAutoReplace } = await load("workers/repository/update/branch/auto-replace.js");

GlobalConfig.set({ localDir: folder });
const { repositories } = JSON.parse(await readFile(report, "utf8"));
const { customManagers } = JSON.parse(await readFile(join(folder, "renovate.json"), "utf8"));
for (const [manager, files] of Object.entries(repositories.local.packageFiles)) {
  for (const { deps, ...file } of files) {
    const name = join(folder, file.packageFile);
    for (const [depIndex, dep] of deps.entries()) {
      for (const update of (dep.updates ?? []).slice(0, 1)) {
        // The report leaves out by which pattern it was found.
        const custom = manager === "regex" && customManagers.find((c) => new RegExp(c.matchStrings[0]).test(dep.replaceString));
        const upgrade = { ...custom, ...file, ...dep, ...update, manager, depIndex };
        const text = await readFile(name, "utf8");
        const updated = await doAutoReplace(upgrade, text, false);
        if (typeof updated !== "string" || updated === text) throw new Error(`${file.packageFile}: ${dep.depName} stays`);
        await writeFile(name, updated);
        console.log(`${file.packageFile}: ${dep.depName} ${update.newValue}`);
      }
    }
  }
}
